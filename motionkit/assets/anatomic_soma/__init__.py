"""The default robot: 23 parts, 52 serial hinges, in the size and T-pose of SOMA23."""

from .builder import build_mjcf as build_mjcf
from .profile import build_profile as build_profile

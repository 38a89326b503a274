"""A robot: a tree of bodies on one free root, hinges and slides, read from any MJCF.

Kinematics of a whole clip at once. For a body with parent ``p``, rest offset ``o`` and rest
rotation ``Q``::

    R = R_p Q,   x = x_p + R_p o
    for each of its joints, in order, with axis a and anchor c in the body frame:
        hinge:  x += R c - R exp(a q) c,  R = R exp(a q)      screw (ω, v) = (R a, (x_c - x_0) × R a)
        slide:  x += R a q                                     screw (0, R a)

which is MuJoCo's own definition (``mj_kinematics``). Screws are taken about the root position
``x_0`` rather than the world origin, so that they stay well conditioned far from it.
"""

import hashlib
import tomllib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from motionkit import rotation
from motionkit.clip import CONTACT_PARTS, SMPLH_JOINTS
from motionkit.errors import AssetError, ConfigError, InputError

if TYPE_CHECKING:
    import mujoco

Array = np.ndarray

"""From labelled points to a person: marker sets, and the fit of shape, offsets and pose."""

from motionkit.human.markers.config import MarkerConfig as MarkerConfig
from motionkit.human.markers.fit import fit_markers as fit_markers
from motionkit.human.markers.result import MarkerFit as MarkerFit

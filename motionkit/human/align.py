"""From any source to a person on the 52 joints of SMPL-H.

A skeleton keeps its own bone lengths: the T-pose of the result has them, so that its kinematics
reproduce the source's joint positions. Rotations are transferred by calibration
(:mod:`motionkit.human.calibration`), never by copying angles. SMPL parameters go through the
user's model, or the embedded body where there is none (:mod:`motionkit.human.parameters`).
"""

from dataclasses import dataclass, field
from pathlib import Path

from motionkit.clip import HumanClip, MarkerClip, RobotMotion, SmplClip, SourceClip
from motionkit.errors import InputError
from motionkit.human.markers.config import MarkerConfig
from motionkit.human.parameters import align_parameters
from motionkit.human.subject import align_skeleton


@dataclass(frozen=True, slots=True)
class HumanConfig:
    """Settings of :func:`align`."""

    smpl_model: Path | None = field(
        default=None,
        metadata={
            "help": "SMPL-H or SMPL-X model (.npz) or folder of models; default: embedded body",
            "unit": "",
            "source": "",
        },
    )
    stature: float | None = field(
        default=None,
        metadata={
            "help": "standing height of a subject whose source does not show it; default: from "
            "the pelvis's height over z = 0, or 1.70",
            "unit": "m",
            "source": "",
        },
    )


def align(
    clip: SourceClip,
    config: HumanConfig | None = None,
    markers: MarkerConfig | None = None,
    *,
    static: MarkerClip | None = None,
) -> HumanClip:
    """The person that a clip shows.

    What the zero pose of a skeleton does not show is measured over the clip, so align a clip
    before cutting it; markers alone are cut first where they begin or end outside the volume. A
    yaw or a shift of the source only turns or shifts the result.

    Args:
        clip: markers, joint centres, a skeleton or parameters of a body model.
        config: settings of the alignment.
        markers: settings of the fit of markers; of no concern to other clips.
        static: markers of the same subject standing still, with the clip's labels; of no concern
            to other clips.

    Raises:
        AssetError: the body model cannot be used.
        ConfigError: the stature is no person's.
        InputError: two joints of a limb coincide, the markers do not tell a body, or the clip is a
            robot's.
    """
    config = HumanConfig() if config is None else config
    if isinstance(clip, SmplClip):
        return align_parameters(clip, config.smpl_model, config.stature)
    if isinstance(clip, RobotMotion):
        raise InputError(
            "is a robot's motion, no person's",
            where=clip.provenance.path,
            help="motionkit convert brings it into other robot formats",
        )
    if isinstance(clip, MarkerClip):
        from motionkit.human.markers import fit_markers

        return fit_markers(clip, markers or MarkerConfig(), static=static).human
    return align_skeleton(clip)

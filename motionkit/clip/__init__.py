"""A clip, at each stage of being understood, and the one place where positions are differenced.

``MarkerClip``, ``SkeletonClip``, ``SmplClip`` and ``RobotMotion`` come from readers, ``HumanClip``
from :mod:`motionkit.human`, ``RobotClip`` from :mod:`motionkit.retarget`; all as
``docs/conventions.md`` says: SI, +Z up, wxyz.
"""

from motionkit.clip.human import HumanClip as HumanClip
from motionkit.clip.human import SmplClip as SmplClip
from motionkit.clip.markers import Analog as Analog
from motionkit.clip.markers import ForcePlate as ForcePlate
from motionkit.clip.markers import MarkerClip as MarkerClip
from motionkit.clip.names import CONTACT_PARTS as CONTACT_PARTS
from motionkit.clip.names import REQUIRED_ROLES as REQUIRED_ROLES
from motionkit.clip.names import SMPLH_JOINTS as SMPLH_JOINTS
from motionkit.clip.names import SMPLH_PARENTS as SMPLH_PARENTS
from motionkit.clip.names import STATURE_RANGE as STATURE_RANGE
from motionkit.clip.record import Note as Note
from motionkit.clip.record import Provenance as Provenance
from motionkit.clip.robot import RobotClip as RobotClip
from motionkit.clip.robot import RobotMotion as RobotMotion
from motionkit.clip.skeleton import SkeletonClip as SkeletonClip
from motionkit.clip.time import differentiate as differentiate
from motionkit.clip.time import resample as resample
from motionkit.clip.time import runs as runs
from motionkit.clip.time import slice_frames as slice_frames

SourceClip = SkeletonClip | SmplClip | MarkerClip | RobotMotion
"""What a reader may return."""

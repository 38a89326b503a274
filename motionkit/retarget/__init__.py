"""Retargeting: a human in motion becomes a motion of a robot, within its joint budgets."""

from motionkit.retarget.config import RetargetConfig as RetargetConfig
from motionkit.retarget.contacts import with_contacts as with_contacts
from motionkit.retarget.report import Outcome as Outcome
from motionkit.retarget.report import PartError as PartError
from motionkit.retarget.report import Peak as Peak
from motionkit.retarget.report import SolveReport as SolveReport
from motionkit.retarget.solve import RetargetResult as RetargetResult
from motionkit.retarget.solve import retarget as retarget

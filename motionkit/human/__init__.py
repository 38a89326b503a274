"""The human: from what a file holds to the 52 joints of SMPL-H."""

from motionkit.human.align import HumanConfig as HumanConfig
from motionkit.human.align import align as align
from motionkit.human.body import Body as Body
from motionkit.human.body import embedded_body as embedded_body

"""Motion files into clips: one file a format, one table of formats."""

from motionkit.formats.amass_markers import read_amass_markers as read_amass_markers
from motionkit.formats.describe import BodyDescription as BodyDescription
from motionkit.formats.describe import Description as Description
from motionkit.formats.describe import describe as describe
from motionkit.formats.describe_points import PointsDescription as PointsDescription
from motionkit.formats.describe_robot import RobotDescription as RobotDescription
from motionkit.formats.folders import Found as Found
from motionkit.formats.folders import Skipped as Skipped
from motionkit.formats.folders import find_files as find_files
from motionkit.formats.folders import search_files as search_files
from motionkit.formats.source import ReadOptions as ReadOptions
from motionkit.formats.table import FORMATS as FORMATS
from motionkit.formats.table import Format as Format
from motionkit.formats.table import read_clip as read_clip

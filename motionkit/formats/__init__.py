"""Motion files into clips: one file a format, one table of formats."""

from motionkit.formats.describe import Description as Description
from motionkit.formats.describe import describe as describe
from motionkit.formats.source import ReadOptions as ReadOptions
from motionkit.formats.table import FORMATS as FORMATS
from motionkit.formats.table import Format as Format
from motionkit.formats.table import Found as Found
from motionkit.formats.table import Skipped as Skipped
from motionkit.formats.table import find_files as find_files
from motionkit.formats.table import read_clip as read_clip
from motionkit.formats.table import search_files as search_files

"""The cache: what retargeting hands to training, and the only thing that training reads."""

from motionkit.cache.container import DamagedError as DamagedError
from motionkit.cache.container import remove_stale as remove_stale
from motionkit.cache.container import replace_file as replace_file
from motionkit.cache.identity import SCHEMA as SCHEMA
from motionkit.cache.identity import CacheIdentity as CacheIdentity
from motionkit.cache.identity import Difference as Difference
from motionkit.cache.identity import canonical_json as canonical_json
from motionkit.cache.identity import compare as compare
from motionkit.cache.identity import identify as identify
from motionkit.cache.library import Entry as Entry
from motionkit.cache.library import Listing as Listing
from motionkit.cache.library import list_references as list_references
from motionkit.cache.library import write_index as write_index
from motionkit.cache.reference import ARRAYS as ARRAYS
from motionkit.cache.reference import CONVENTIONS as CONVENTIONS
from motionkit.cache.reference import Reference as Reference
from motionkit.cache.reference import build_reference as build_reference
from motionkit.cache.reference import derive as derive
from motionkit.cache.store import SUFFIX as SUFFIX
from motionkit.cache.store import Header as Header
from motionkit.cache.store import IdentityWarning as IdentityWarning
from motionkit.cache.store import is_done as is_done
from motionkit.cache.store import read_header as read_header
from motionkit.cache.store import read_reference as read_reference
from motionkit.cache.store import reference_path as reference_path
from motionkit.cache.store import write_reference as write_reference

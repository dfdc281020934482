"""What a snapshot costs, from a config.json alone, and the budget to set."""

from .allocators import ALLOCATORS as ALLOCATORS
from .allocators import Allocator as Allocator
from .breakdown import Breakdown as Breakdown
from .breakdown import Part as Part
from .breakdown import parts_of as parts_of
from .breakdown import snapshot_bytes as snapshot_bytes
from .calls import parse_calls as parse_calls
from .check import SizeMismatch as SizeMismatch
from .check import verify as verify
from .configs import find_config as find_config
from .configs import known_configs as known_configs
from .model import SizeModel as SizeModel

"""What a snapshot costs, from a config.json alone, and the budget to set."""

from .allocators import ALLOCATORS as ALLOCATORS
from .allocators import Allocator as Allocator
from .breakdown import Breakdown as Breakdown
from .breakdown import Part as Part
from .breakdown import parts_of as parts_of
from .breakdown import snapshot_bytes as snapshot_bytes
from .budget import Cliff as Cliff
from .budget import Policy as Policy
from .budget import Recommendation as Recommendation
from .budget import find_cliff as find_cliff
from .budget import keeps_warm as keeps_warm
from .budget import mlxcel_default as mlxcel_default
from .budget import recommend as recommend
from .budget import sizer as sizer
from .calls import parse_calls as parse_calls
from .check import SizeMismatch as SizeMismatch
from .check import verify as verify
from .configs import find_config as find_config
from .configs import known_configs as known_configs
from .memory import FreeMemory as FreeMemory
from .memory import free_memory as free_memory
from .memory import weights_bytes as weights_bytes
from .model import SizeModel as SizeModel
from .workload import Workload as Workload
from .workload import hits_in_the_last_round as hits_in_the_last_round
from .workload import resident as resident

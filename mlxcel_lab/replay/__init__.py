"""Replays: recorded, public and made-up traffic against any rule, budget and peer, without a model."""

from .capacity import bounded as bounded
from .capacity import budgets_for as budgets_for
from .capacity import curves as curves
from .costs import CostModel as CostModel
from .driving import drive as drive
from .generators import generate as generate
from .readers import read_trace as read_trace
from .resolved import linear_size as linear_size
from .resolved import resolve as resolve
from .rules import RULES as RULES
from .simulation import Budget as Budget
from .simulation import simulate as simulate
from .trace import Trace as Trace

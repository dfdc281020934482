"""Replays: recorded, public and made-up traffic against any rule, budget and peer, without a model."""

from .costs import CostModel as CostModel
from .curves import bounded as bounded
from .curves import budgets_for as budgets_for
from .curves import curves as curves
from .drive import drive as drive
from .generators import generate as generate
from .readers import read_trace as read_trace
from .resolve import linear_size as linear_size
from .resolve import resolve as resolve
from .rules import RULES as RULES
from .simulate import Budget as Budget
from .simulate import simulate as simulate
from .trace import Trace as Trace

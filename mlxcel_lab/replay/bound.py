"""What no rule can beat: an upper bound on the tokens that a budget can serve, knowing the future.

After PFOO-L (Berger, Beckmann and Harchol-Balter, 2018): for a snapshot to serve a request it must have been resident
since its conversation's last request at least. Each such stretch takes its bytes times its length out of one account
of budget times time; the account is spent on the best yields, the last one in part. Any real schedule spends no more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .orders import serving_requests
from .resolved import Resolved


def most_tokens(resolved: Resolved, capacity_bytes: int) -> float:
    """An upper bound on `tokens_reused` of any rule at that budget."""
    gains, costs = resolved.once("bound", lambda: _stretches(resolved))
    account = float(capacity_bytes) * len(resolved)
    spent = np.cumsum(costs)
    whole = int(np.searchsorted(spent, account, side="right"))
    total = float(gains[:whole].sum())
    if whole < len(gains):
        left = account - (float(spent[whole - 1]) if whole else 0.0)
        total += float(gains[whole]) * left / float(costs[whole])
    return total


def _stretches(resolved: Resolved) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """For each request that could be served: its tokens, and the least bytes times requests it takes; best first."""
    ratio = _best_ratio(resolved)
    last: dict[int, int] = {}
    served = {
        request: target for target, requests in serving_requests(resolved).items() for request in requests
    }
    gains, costs = [], []
    for request, key in enumerate(resolved.request_key):
        target = served.get(request)
        if target is not None:
            gains.append(resolved.tokens[target])
            costs.append(resolved.tokens[target] / ratio[target] * (request - last[key]))
        last[key] = request
    gain, cost = np.array(gains, np.float64), np.array(costs, np.float64)
    order = np.argsort(-gain / np.maximum(cost, 1e-300), kind="stable")
    return gain[order], cost[order]


def _best_ratio(resolved: Resolved) -> list[float]:
    """By target the most tokens a byte that it or a prefix of it serves: a shorter snapshot may be the better buy."""
    best = [0.0] * len(resolved.up)
    for target in sorted(range(len(best)), key=resolved.tokens.__getitem__):
        own = resolved.tokens[target] / max(1, resolved.size[target])
        above = resolved.up[target]
        best[target] = max(own, best[above]) if above >= 0 else own
    return best

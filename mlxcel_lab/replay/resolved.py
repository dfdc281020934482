"""The token work of a replay, done once: which vector that could be stored is a prefix of which request.

What is left for a simulation is bookkeeping on small integers. A *target* is a vector at which some snapshot is offered
in the course of the trace, by its conversation's key; `up` leads from a target to the longest other target that is a
prefix of it, `deepest` from a request to the longest target that may serve it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..store.survival import Held
from .trace import Request, Trace, merged
from .vector_tree import Nodes, VectorTree

SizeOf: TypeAlias = Callable[[int], int]
"""Bytes of a snapshot of that many tokens."""

COMPLETION, BOUNDARY = 1, 2


@dataclass(frozen=True)
class Resolved:
    """A trace as integers. Lists by target: `up`, `tokens`, `size`, `key`; by request: the others.

    `offers[r]` are the (target, origin) that request r donates, in order. The targets below t in the forest of prefixes
    are those with `entered[t] <= entered[x] < left[t]`.
    """

    name: str
    sessions: tuple[str | None, ...]  # by key
    buckets: tuple[str, ...]  # by key
    up: list[int]
    tokens: list[int]
    size: list[int]
    key: list[int]
    last_offer: list[int]  # the number of the last offer, counted over the trace, that is made at a target
    request_key: list[int]
    time: list[float]
    prompt_tokens: list[int]
    deepest: list[int]
    offers: list[tuple[tuple[int, int], ...]]
    entered: list[int]
    left: list[int]
    _known: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.request_key)

    def is_prefix(self, target: int, other: int) -> bool:
        """Whether one target's vector is a prefix of (or is) another's; -1 is no target and begins with none."""
        return other >= 0 and self.entered[target] <= self.entered[other] < self.left[target]

    def held(self, target: int, num_tokens: int) -> Held:
        """Which marks a vector of that length, at or below that target, begins with and is longer than."""
        return lambda mark: 0 < mark.num_tokens < num_tokens and self.is_prefix(mark.name, target)  # type: ignore[arg-type]

    def once(self, name: Hashable, work: Callable[[], Any]) -> Any:
        """The result of some work on this trace, done the first time it is asked for."""
        if name not in self._known:
            self._known[name] = work()
        return self._known[name]

    @property
    def distinct_bytes(self) -> int:
        """What all targets together would take: a budget above it changes nothing."""
        return sum(self.size)


def linear_size(fixed_bytes: int, bytes_per_token: int) -> SizeOf:
    """Snapshots of a recurrent or hybrid model: a fixed part and the attention layers' part by the token."""
    if fixed_bytes < 0 or bytes_per_token < 0 or fixed_bytes + bytes_per_token < 1:
        raise ValueError(f"sizes are bytes: got {fixed_bytes} fixed and {bytes_per_token} a token")
    return lambda tokens: fixed_bytes + bytes_per_token * tokens


def resolve(
    trace: Trace, size_of: SizeOf, *, reserve: int = 1, shared: bool = False, donate: str = "both"
) -> Resolved:
    """Work out the relations between a trace's vectors.

    `reserve` tokens of a request are always left to forward, as the engine needs one. `shared` puts all sessions into
    one namespace, as caches without sessions do. `donate` keeps both kinds of snapshots, or one ("completion",
    "boundary"). Cost: linear in the runs of the trace.
    """
    if donate not in ("both", "completion", "boundary"):
        raise ValueError(f"donate is {donate!r}: expected both, completion or boundary")
    builder = _Builder(trace.tokens_per_id, reserve, shared)
    for request in trace.rows():
        builder.add(request, donate)
    return builder.finish(trace, size_of)


class _Conversation:
    """What is remembered of a key while the trace is walked."""

    def __init__(self, number: int, nodes: Nodes) -> None:
        self.number = number
        self.tree = VectorTree(nodes)


class _Builder:
    def __init__(self, tokens_per_id: int, reserve: int, shared: bool) -> None:
        self.unit, self.reserve, self.shared = tokens_per_id, reserve, shared
        self.nodes = Nodes()
        self.keys: dict[tuple[str | None, str], _Conversation] = {}
        self.ends: list[int] = []
        self.request_key: list[int] = []
        self.offers: list[list[tuple[int, int]]] = []

    def add(self, request: Request, donate: str) -> None:
        key = (None if self.shared else request.session, request.bucket)
        if key not in self.keys:
            self.keys[key] = _Conversation(len(self.keys), self.nodes)
        known = self.keys[key]
        self.request_key.append(known.number)
        self.ends.append(known.tree.walk(request.prompt))
        self.offers.append(list(self._offers(known, request, donate)))

    def _offers(self, known: _Conversation, request: Request, donate: str) -> Iterator[tuple[int, int]]:
        tree = known.tree
        if donate != "completion":
            for depth in request.boundaries:
                yield tree.at(depth), BOUNDARY
        if request.reply and donate != "boundary":
            yield tree.walk(merged([*request.prompt, *request.reply])), COMPLETION
        if request.warm and donate != "completion":
            yield tree.walk(request.warm), BOUNDARY

    def finish(self, trace: Trace, size_of: SizeOf) -> Resolved:
        nodes, frame = self.nodes, trace.requests
        offered = sorted({node for offers in self.offers for node, _ in offers})
        number = {node: target for target, node in enumerate(offered)} | {-1: -1}
        nearest = nodes.nearest(offered)
        up = [number[nearest[nodes.parent[node]]] if nodes.parent[node] >= 0 else -1 for node in offered]
        tokens = [nodes.depth[node] * self.unit for node in offered]
        offers = [tuple((number[node], origin) for node, origin in offers) for offers in self.offers]
        prompt_tokens = frame["prompt_tokens"].to_list()
        deepest = []
        for end, prompt in zip(self.ends, prompt_tokens, strict=True):
            target = number[nearest[end]]
            while target >= 0 and tokens[target] > prompt - self.reserve:
                target = up[target]
            deepest.append(target)
        key, last_offer, made = [0] * len(offered), [0] * len(offered), 0
        for request, pairs in enumerate(offers):
            for target, _ in pairs:
                key[target], last_offer[target] = self.request_key[request], made
                made += 1
        entered, left = _intervals(up)
        sizes = {count: size_of(count) for count in set(tokens)}
        return Resolved(
            name=trace.name,
            sessions=tuple(session for session, _ in self.keys),
            buckets=tuple(bucket for _, bucket in self.keys),
            up=up,
            tokens=tokens,
            size=[sizes[count] for count in tokens],
            key=key,
            last_offer=last_offer,
            request_key=self.request_key,
            time=frame["time"].to_list(),
            prompt_tokens=prompt_tokens,
            deepest=deepest,
            offers=offers,
            entered=entered,
            left=left,
        )


def _intervals(up: list[int]) -> tuple[list[int], list[int]]:
    """When a walk through the forest enters and leaves each target."""
    below: dict[int, list[int]] = {}
    for target, above in enumerate(up):
        below.setdefault(above, []).append(target)
    entered, left, clock = [0] * len(up), [0] * len(up), 0
    stack = [(target, False) for target in below.get(-1, [])]
    while stack:
        target, done = stack.pop()
        if done:
            left[target] = clock
            continue
        entered[target], clock = clock, clock + 1
        stack.append((target, True))
        stack += [(child, False) for child in below.get(target, [])]
    return entered, left

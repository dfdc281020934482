"""The store's invariants, recomputed from scratch: O(everything), for tests and for a doubtful hour."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np

from ..config import PromptCacheConfig
from .counters import Counters
from .index import Index
from .prefix_tree import NOBODY, Node, PrefixTree
from .records import Record


class IntegrityError(AssertionError):
    """The store contradicts itself; the message names what disagrees."""


def check_index(index: Index, config: PromptCacheConfig, counters: Counters) -> None:
    """Raise an IntegrityError unless tree, recency list, ghosts, bytes and counters agree and the budget holds."""
    residents, ghosts = [*index.residents.values()], [*index.ghosts]
    _agree("bytes", index.total_bytes, sum(record.size_bytes for record in residents))
    _agree("inserts", counters.inserts, len(residents) + sum(counters.removed.values()))
    _agree("ghost tokens", index.ghost_tokens, sum(record.num_tokens for record in ghosts))
    _at_most("bytes", index.total_bytes, config.capacity_bytes)
    _at_most("bytes", index.total_bytes, counters.peak_bytes)
    _at_most("entries", len(residents), config.snapshot_max_entries)
    _at_most("ghosts", len(ghosts), index.max_ghosts)
    _at_most("ghost tokens", index.ghost_tokens, index.max_ghost_tokens)
    ticks = [record.tick for record in residents]
    _agree("order by recency", ticks, sorted(ticks))
    held = [record for key, tree in index.trees.items() for record in _check_tree(tree, key)]
    _agree("residents in the trees", {id(r) for r in held if r.alive}, {id(r) for r in residents})
    _agree("ghosts in the trees", {id(r) for r in held if not r.alive}, {id(r) for r in ghosts})


def _check_tree(tree: PrefixTree, key: object) -> Iterator[Record]:
    _agree(f"a tree without owner under {key}", tree.root.owner is NOBODY, False)
    nodes = [tree.root]
    while nodes:
        node = nodes.pop()
        nodes.extend((node.children or {}).values())
        _check_node(node)
        if node.item is not None:
            record = cast(Record, node.item)
            _agree(f"key of snapshot {record.snapshot_id}", record.key, key)
            _agree(f"length of snapshot {record.snapshot_id}", record.num_tokens, node.end)
            _agree(f"node of snapshot {record.snapshot_id}", record.node, node)
            _agree(f"fate of snapshot {record.snapshot_id}", record.fate is None, record.alive)
            _agree(f"state of snapshot {record.snapshot_id}", record.snapshot is None, not record.alive)
            yield record


def _check_node(node: Node) -> None:
    children = [*(node.children or {}).values()]
    below = [child.owner for child in children] + [node.item]
    living = [item for item in below if item is not None and item.alive]
    best = max(living, key=lambda item: item.tick, default=None)
    if best is not None:
        _agree(f"owner at {node.end}", node.owner, best)
    else:
        _agree(f"dead owner at {node.end} is from below", any(node.owner is item for item in below), True)
    if node.parent is not None and node.item is None:
        _agree(f"a node at {node.end} with neither item nor fork", len(children) > 1, True)
    if not children and node.item is not None:
        _agree(f"tokens that the leaf at {node.end} pins", len(node.label()), node.end)
    for token, child in (node.children or {}).items():
        _agree(f"parent at {child.end}", child.parent, node)
        _agree(f"first token at {node.end}", child.label().item(node.end), token)
        same = np.array_equal(child.label()[: node.end], node.label()[: node.end])
        _agree(f"labels above {child.end} spell one path", same and child.end > node.end, True)


def _agree(what: str, found: object, expected: object) -> None:
    if found is not expected and found != expected:
        raise IntegrityError(f"{what}: {found!r}, expected {expected!r}")


def _at_most(what: str, found: int, limit: int) -> None:
    if found > limit:
        raise IntegrityError(f"{what}: {found:,} is over {limit:,}")

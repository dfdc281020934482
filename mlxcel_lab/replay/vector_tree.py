"""One conversation's vectors as a radix tree over runs of ids, grown in the order in which they occur.

The next vector of a conversation mostly goes on where the last one ended, so the walk begins there and not at the root:
a conversation costs its new runs, not the square of its turns.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from .trace import Runs, common_ids, cut, num_ids


class VectorTree:
    """Nodes are the ends of vectors and the points where they part; they keep their number and depth for good.

    `nodes` is shared by all trees of a trace, so that a node's number names it everywhere.
    """

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._root = nodes.add(-1, 0, 0)
        self._last: Runs = []
        self._path = [self._root]  # the nodes along the last vector, and their depths
        self._depths = [0]

    def walk(self, vector: Runs) -> int:
        """The node where the vector (merged runs) ends; it is made if need be."""
        shared = common_ids(self._last, vector)
        while self._depths[-1] > shared:
            self._path.pop()
            self._depths.pop()
        self._descend(cut(vector, self._depths[-1], num_ids(vector)))
        self._last = vector
        return self._path[-1]

    def at(self, depth: int) -> int:
        """The node after the first `depth` ids of the last vector walked; it is made if need be."""
        where = bisect_left(self._depths, depth)
        if self._depths[where] != depth:
            upper = self._nodes.split(self._path[where], depth)
            self._path.insert(where, upper)
            self._depths.insert(where, depth)
        return self._path[where]

    def _descend(self, runs: Runs) -> None:
        nodes = self._nodes
        for start, count in runs:
            while count:
                node = nodes.step(self._path[-1], start, count)
                taken = nodes.depth[node] - self._depths[-1]
                self._path.append(node)
                self._depths.append(nodes.depth[node])
                start, count = start + taken, count - taken


class Nodes:
    """The nodes of many trees: a node's edge is the run of ids that leads to it from its parent."""

    def __init__(self) -> None:
        self.parent: list[int] = []
        self.depth: list[int] = []  # ids from the root
        self._start: list[int] = []
        self._children: list[dict[int, int]] = []

    def add(self, parent: int, start: int, depth: int) -> int:
        """A new leaf whose edge begins with id `start`."""
        self.parent.append(parent)
        self.depth.append(depth)
        self._start.append(start)
        self._children.append({})
        if parent >= 0:
            self._children[parent][start] = len(self.parent) - 1
        return len(self.parent) - 1

    def step(self, node: int, start: int, count: int) -> int:
        """The node reached from `node` by as many of the run's ids as one edge takes."""
        child = self._children[node].get(start)
        end = self.depth[node] + count
        if child is None:
            return self.add(node, start, end)
        return child if self.depth[child] <= end else self.split(child, end)

    def split(self, node: int, depth: int) -> int:
        """A new node at `depth` on the edge that leads to `node`, which stays what it was."""
        above, start = self.parent[node], self._start[node]
        upper = self.add(above, start, depth)
        self._start[node] = start + depth - self.depth[above]
        self._children[upper][self._start[node]] = node
        self.parent[node] = upper
        return upper

    def nearest(self, marked: Iterable[int]) -> list[int]:
        """For each node the nearest marked node among itself and its ancestors, or -1."""
        wanted = set(marked)
        nearest = [-1] * len(self.parent)
        for node in sorted(range(len(self.parent)), key=self.depth.__getitem__):
            above = self.parent[node]
            nearest[node] = node if node in wanted else nearest[above] if above >= 0 else -1
        return nearest

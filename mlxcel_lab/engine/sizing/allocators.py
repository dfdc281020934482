"""Whose allocation is counted: mlx-lm's as installed, or mlxcel's as its figures show it.

mlxcel's differences, each found in published byte counts (data/published/state_bytes.csv):
- the whole prompt is one forward call, where mlx-lm forwards all but the last token in steps, then that one;
- the recurrent state is held in 16 bits, where mlx-lm keeps float32;
- beside a layer's keys and values lie its scalars: 8 B in a full layer, 12 B in a chunked one, 32 B in a window;
  families with a recurrent or convolution state have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Allocator:
    """One way to hold a cache. `scalars`: bytes beside a layer's keys and values, by the class of its cache."""

    name: str
    prefill_step: int | None  # None: a prompt is one forward call
    narrow_state: bool  # recurrent states in 16 bits
    scalars: Mapping[str, int] = field(default_factory=dict)

    def split(self, prompt: int, generated: int = 0) -> tuple[int, ...]:
        """The forward calls of a prompt of that many tokens and of the tokens decoded and forwarded after it."""
        if prompt < 1 or generated < 0:
            raise ValueError(
                f"expected a prompt of 1 token or more and 0 or more generated, not {prompt}, {generated}"
            )
        if self.prefill_step is None:
            return (prompt, *(1,) * generated)
        whole, rest = divmod(prompt - 1, self.prefill_step)
        return (*(self.prefill_step,) * whole, *(rest,) * (rest > 0), 1, *(1,) * generated)


_SCALARS = {"KVCache": 8, "ChunkedKVCache": 12, "RotatingKVCache": 32}
ALLOCATORS = {
    "mlx-lm": Allocator("mlx-lm", prefill_step=2048, narrow_state=False),
    "mlxcel": Allocator("mlxcel", prefill_step=None, narrow_state=True, scalars=_SCALARS),
}


def find_allocator(name: str | Allocator) -> Allocator:
    """The allocator of that name; an Allocator is handed through, so that one's own fits in."""
    if isinstance(name, Allocator):
        return name
    if name not in ALLOCATORS:
        raise ValueError(f"unknown allocator {name!r}: expected one of {', '.join(ALLOCATORS)}")
    return ALLOCATORS[name]

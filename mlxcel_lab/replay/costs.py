"""Tokens as seconds: what a prefill takes from where it starts, measured on a model or given.

Prefilling the tokens c..p of a prompt takes (p - c) * a + (p² - c²) * b + d seconds, since attention looks back at
everything before it; a hit adds e seconds for the copy of the state. Measured are the prefill alone: no decoding, no
queue, no donation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class CostModel:
    """Seconds a token, seconds a squared token, seconds a request, and seconds a restore; `source` says of what."""

    per_token: float
    per_square: float = 0.0
    per_request: float = 0.0
    per_restore: float = 0.0
    source: str = "given"

    def __post_init__(self) -> None:
        for name in ("per_token", "per_square", "per_request", "per_restore"):
            value = getattr(self, name)
            if not 0 <= value < float("inf"):
                raise ValueError(f"{name} is {value!r}: expected seconds, 0 or more")

    @classmethod
    def of_throughput(cls, tokens_per_second: float) -> CostModel:
        """A prefill at that many tokens a second, whatever its length."""
        if not tokens_per_second > 0:
            raise ValueError(f"{tokens_per_second} tokens a second: expected a number above 0")
        return cls(1 / tokens_per_second, source=f"{tokens_per_second:,.0f} tokens a second, given")

    def prefill(self, prompt: npt.ArrayLike, cached: npt.ArrayLike = 0) -> npt.NDArray[np.float64]:
        """Seconds until the first token of prompts of which so many tokens are cached."""
        p, c = np.asarray(prompt, np.float64), np.asarray(cached, np.float64)
        seconds = (p - c) * self.per_token + (p**2 - c**2) * self.per_square
        return np.asarray(seconds + self.per_request + np.where(c > 0, self.per_restore, 0.0))


def measure(model: Any, lengths: tuple[int, ...] = (64, 128, 256, 512), repeats: int = 3) -> CostModel:
    """A cost model fitted to the prefill of a loaded model, each length from nothing; medians of `repeats`.

    The fit is least squares over the three terms with none below 0. Takes about repeats * sum(lengths) tokens' time.
    """
    from ..engine.backend import mx
    from ..engine.worker import mlx_thread

    def once(length: int) -> float:
        from mlx_lm.models.cache import make_prompt_cache

        cache = make_prompt_cache(model.model)
        begun = time.perf_counter()
        mx.eval(model.model(mx.arange(length)[None] % 100, cache=cache))
        return time.perf_counter() - begun

    def timed() -> list[float]:
        once(lengths[0])  # the first pass compiles
        return [float(np.median([once(length) for _ in range(repeats)])) for length in lengths]

    return fitted(
        lengths, mlx_thread().run(timed), f"measured on {model.name}, {lengths[0]}-{lengths[-1]} tokens"
    )


def fitted(lengths: tuple[int, ...], seconds: list[float], source: str = "fitted") -> CostModel:
    """The cost model nearest to measured (length, seconds) pairs; terms that came out negative are dropped in turn."""
    n = np.asarray(lengths, np.float64)
    terms: dict[str, Callable[[Any], Any]] = {
        "per_token": lambda x: x,
        "per_square": np.square,
        "per_request": np.ones_like,
    }
    while True:
        matrix = np.stack([term(n) for term in terms.values()], axis=1)
        found = np.linalg.lstsq(matrix, np.asarray(seconds), rcond=None)[0]
        fit = dict(zip(terms, map(float, found), strict=True))
        worst = min(fit, key=fit.__getitem__)
        if fit[worst] >= 0 or len(terms) == 1:
            return CostModel(**{"per_token": 0.0} | {k: max(0.0, v) for k, v in fit.items()}, source=source)
        del terms[worst]

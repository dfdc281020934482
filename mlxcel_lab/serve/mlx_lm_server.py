"""mlx-lm's own server, started with the lab's store in place of its `LRUPromptCache`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ..config import Resolved
from ..store import Journal, SnapshotStore, SupersedeRule
from .mlx_lm_cache import PerCacheType, SnapshotPromptCache
from .settings import MAX_EVENTS

_THEIR_BUDGET = ("--prompt-cache-size", "--prompt-cache-bytes")


def run_server(arguments: Sequence[str], resolved: Resolved) -> None:
    """Run `mlx_lm.server` with these arguments until it is stopped.

    Raises ValueError for mlx-lm's own budget flags, which would have no effect here.
    """
    for argument in arguments:
        if argument.split("=")[0] in _THEIR_BUDGET:
            raise ValueError(
                f"{argument}: the store's budget is set by --prompt-cache-snapshot-capacity-bytes and "
                "--prompt-cache-snapshot-max-entries"
            )
    with (
        _model_folder(list(arguments)) as argv,
        patched(prompt_cache(resolved)) as server,
        patch.object(sys, "argv", ["mlx_lm.server", *argv]),
    ):
        server.main()


def prompt_cache(resolved: Resolved) -> SnapshotPromptCache:
    """The store behind mlx-lm's interface, with a bounded journal that keeps no tokens."""
    journal = Journal(max_events=MAX_EVENTS, keep_tokens=False)
    return SnapshotPromptCache(
        SnapshotStore(resolved.config, rule=_rule(resolved), journal=journal, sources=resolved.sources)
    )


def _rule(resolved: Resolved) -> str | SupersedeRule:
    """`origin` means by cache type here; any other rule is what it says."""
    return PerCacheType() if resolved.config.supersede == "origin" else resolved.config.supersede


@contextmanager
def patched(cache: SnapshotPromptCache) -> Iterator[Any]:
    """`mlx_lm.server` with its cache class replaced: it offers no other place to hand one in."""
    from ..engine import backend  # noqa: F401, I001  (before mlx: see there)
    import mlx_lm.server as server

    with patch.object(server, "LRUPromptCache", lambda *_, **__: cache):
        yield server


@contextmanager
def _model_folder(arguments: list[str]) -> Iterator[list[str]]:
    """The arguments with a lab model's name replaced by a folder that mlx-lm can load."""
    from ..engine import lab_models

    position = arguments.index("--model") + 1 if "--model" in arguments else 0
    if not 0 < position < len(arguments) or arguments[position] not in lab_models():
        yield arguments
        return
    with tempfile.TemporaryDirectory(prefix="mlxcel-lab-") as folder:
        save_lab_model(arguments[position], Path(folder))
        yield [*arguments[:position], folder, *arguments[position + 1 :]]


def save_lab_model(name: str, folder: Path) -> None:
    """Write a lab model as a checkpoint: config.json, weights, tokenizer with its chat template."""
    from ..engine import backend  # noqa: F401, I001  (before mlx: see there)
    from mlx_lm.utils import save_config, save_model

    from ..engine import load
    from ..engine.worker import mlx_thread

    model = load(name)
    mlx_thread().run(lambda: save_model(folder, model.model))
    save_config(dict(model.config), folder / "config.json")
    model.tokenizer.save_pretrained(str(folder))

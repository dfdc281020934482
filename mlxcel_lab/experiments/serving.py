"""The server as its clients and its operators see it: conversations through OpenAI's client, and its start-up log.

Not here: what mlx-lm's own server does with the same traffic (see `peer` and `inside_mlx_lm`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

from ..config import PromptCacheConfig
from ..engine import Engine, load
from ..store import Journal, SnapshotStore

SYSTEM = "You are a patient guide of the mountains. You answer in one short sentence."
TALKS: dict[str, list[str]] = {
    "alice": [
        "Where does the quiet path begin?",
        "How long does it take?",
        "Is there a hut?",
        "Who keeps it?",
    ],
    "bob": ["What grows near the old bridge?", "In autumn too?", "And mushrooms?", "Where may I rest?"],
}
_COUNTERS = ("entries", "bytes", "supersedes", "evictions_lru", "hits", "lookups")
_LISTENING = "listening on "


class Served(NamedTuple):
    """A row a turn (the client's usage and the server's stats after it), and the store's journal."""

    turns: pl.DataFrame
    journal: Journal


def interleaved(model: str, turns: int, max_tokens: int) -> Served:
    """Starts a server on `model` and lets two users talk to it in turns, through the real OpenAI client."""
    import openai

    from ..serve import BackgroundServer, ServerSettings

    store = SnapshotStore(PromptCacheConfig(warmup=False))
    rows = []
    histories = {user: [{"role": "system", "content": SYSTEM}] for user in TALKS}
    with (
        BackgroundServer(Engine(load(model), store), ServerSettings(model)) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):
        for turn in range(turns):
            for user, said in TALKS.items():
                histories[user].append({"role": "user", "content": said[turn % len(said)]})
                usage = _say(client, model, user, histories[user], max_tokens)
                rows.append({"turn": turn + 1, "user": user, **usage, **_stats(url)})
    return Served(pl.DataFrame(rows), store.journal)


def startup(model: str, environment: Mapping[str, str], *flags: str) -> tuple[list[str], dict[str, Any]]:
    """Starts `mlxcel-lab serve` as a process of its own in that environment: its log lines, and its cache's stats."""
    command = [sys.executable, "-m", "mlxcel_lab.cli", "serve", model, "--port", "0", *flags]
    process = subprocess.Popen(command, env={**os.environ, **environment}, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    lines: list[str] = []
    try:
        for line in process.stderr:
            lines.append(line.rstrip())
            if _LISTENING in line:
                return lines, _get(line.split(_LISTENING)[1].strip() + "/v1/cache/stats")
    finally:
        process.terminate()
        process.communicate()
    raise RuntimeError(f"the server did not start: {' | '.join(lines)}")


def _say(
    client: Any, model: str, user: str, history: list[dict[str, str]], max_tokens: int
) -> dict[str, int]:
    reply = client.chat.completions.create(model=model, user=user, messages=history, max_tokens=max_tokens)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
    cached = reply.usage.prompt_tokens_details.cached_tokens
    return {"prompt_tokens": reply.usage.prompt_tokens, "cached_tokens": cached}


def _stats(url: str) -> dict[str, Any]:
    stats = _get(f"{url}/v1/cache/stats")
    return {name: stats[f"snapshot_{name}"] for name in _COUNTERS}


def _get(url: str) -> dict[str, Any]:
    import httpx

    body: dict[str, Any] = httpx.get(url).raise_for_status().json()
    return body

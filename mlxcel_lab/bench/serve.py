"""`mlxcel-lab bench serve`: requests a second and time to first token of the server, cold against warm.

Measured from outside, over HTTP on this machine, by clients that stream: the same conversations once with the cache
disabled and once with it. Not measured: the network, and how fast a model is on other hardware.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import click
import httpx
import polars as pl

from ..config import PromptCacheConfig
from ..engine import Engine, LabModel, load
from ..engine.backend import has_openblas, mx
from ..serve import BackgroundServer, ServerSettings
from ..store import Journal, SnapshotStore

_PERCENTILES = (50, 90, 99)
_SYSTEM = (
    "You are a patient guide of the mountains. You answer in one short sentence and repeat what matters. "
)


class Load(NamedTuple):
    """The traffic: each client runs its conversations one after another, turn by turn."""

    conversations: int
    turns: int
    clients: int
    system_words: int
    max_tokens: int


class Answer(NamedTuple):
    """One streamed request as its client saw it, in seconds and tokens."""

    turn: int
    first_token: float
    total: float
    prompt_tokens: int
    cached_tokens: int
    text: str


@click.command("serve")
@click.argument("model", default="gated-delta")
@click.option("--conversations", type=click.IntRange(1), default=16, show_default=True)
@click.option("--turns", type=click.IntRange(2), default=4, show_default=True, help="Of each conversation.")
@click.option(
    "--clients", type=click.IntRange(1), default=4, show_default=True, help="Conversations at a time."
)
@click.option(
    "--system-words",
    type=click.IntRange(1),
    default=400,
    show_default=True,
    help="Length of the system prompt.",
)
@click.option("--max-tokens", type=click.IntRange(1), default=8, show_default=True, help="Of a reply.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs/bench/serve"),
    show_default=True,
)
def command(model: str, out: Path, **traffic: int) -> None:
    """Measure the server on MODEL: the same conversations cold (cache disabled) and warm, side by side."""
    asked, loaded = Load(**traffic), load(model)
    for name, value in conditions(model, asked).items():
        click.echo(f"{name + ':':<14}{value}")
    click.echo("warming up", err=True)
    run(loaded, Load(1, 2, 1, asked.system_words, 2), enabled=True)
    frame = pl.concat([run(loaded, asked, enabled=enabled) for enabled in (False, True)])
    click.echo(f"\n{table(frame)}\n")
    click.echo(ratio(frame))
    out.mkdir(parents=True, exist_ok=True)
    frame.write_parquet(out / "results.parquet")
    click.echo(out / "results.parquet")


def run(model: LabModel, asked: Load, *, enabled: bool) -> pl.DataFrame:
    """All requests of one side: a row a request; `seconds` is the whole side's wall time."""
    store = SnapshotStore(
        PromptCacheConfig(enabled=enabled, warmup=False), journal=Journal(10_000, keep_tokens=False)
    )
    settings = ServerSettings(model.name, max_waiting=max(64, asked.clients))
    with (
        BackgroundServer(Engine(model, store), settings) as url,
        httpx.Client(base_url=url, timeout=None) as client,
    ):
        begin = time.perf_counter()
        with ThreadPoolExecutor(asked.clients) as clients:
            talks = clients.map(
                lambda n: list(_talk(client, model.name, n, asked)), range(asked.conversations)
            )
            answers = [answer for talk in talks for answer in talk]
        seconds = time.perf_counter() - begin
    store.check_integrity()
    side = pl.lit("warm" if enabled else "cold").alias("side")
    return pl.DataFrame(answers).drop("text").with_columns(side, pl.lit(seconds).alias("seconds"))


def table(frame: pl.DataFrame) -> str:
    """Requests a second and time to first token by percentiles, for all turns and for those after the first."""
    lines = [
        f"{'side':<6}{'turns':<10}{'requests/s':>11}"
        + "".join(f"{f'TTFT p{p} ms':>14}" for p in _PERCENTILES)
        + f"{'cached':>9}"
    ]
    for side in ("cold", "warm"):
        for turns, first in (("all", 1), ("2 and on", 2)):
            rows = frame.filter((pl.col("side") == side) & (pl.col("turn") >= first))
            rate = f"{len(rows) / rows['seconds'][0]:.1f}" if first == 1 else ""
            cached = int(rows["cached_tokens"].sum()) / int(rows["prompt_tokens"].sum())
            cells = "".join(f"{_percentile(rows, p) * 1000:>14.1f}" for p in _PERCENTILES)
            lines.append(f"{side:<6}{turns:<10}{rate:>11}{cells}{cached:>9.1%}")
    return "\n".join(lines)


def ratio(frame: pl.DataFrame) -> str:
    later = frame.filter(pl.col("turn") >= 2)
    cold, warm = (_percentile(later.filter(pl.col("side") == side), 50) for side in ("cold", "warm"))
    return f"median time to first token after the first turn: cold {cold:.4f} s / warm {warm:.4f} s = {cold / warm:.1f}"


def conditions(model: str, asked: Load) -> dict[str, Any]:
    blas = ", OpenBLAS" if has_openblas else ""
    return {
        "model": model,
        "traffic": ", ".join(f"{name}={value}" for name, value in asked._asdict().items()),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, MLX on {mx.default_device()}{blas}",
        "versions": f"Python {platform.python_version()}, mlx {version('mlx')}",
    }


def _percentile(rows: pl.DataFrame, percent: int) -> float:
    value = rows["first_token"].quantile(percent / 100, "linear")
    assert value is not None
    return value


def _talk(client: httpx.Client, model: str, number: int, asked: Load) -> Iterator[Answer]:
    words = (_SYSTEM * (asked.system_words // len(_SYSTEM.split()) + 1)).split()[: asked.system_words]
    messages = [{"role": "system", "content": " ".join([f"Guest {number}.", *words])}]
    for turn in range(1, asked.turns + 1):
        messages.append({"role": "user", "content": f"What of day {turn}?"})
        body = {"model": model, "messages": messages, "user": str(number), "max_tokens": asked.max_tokens}
        answer = _ask(client, body, turn)
        messages.append({"role": "assistant", "content": answer.text})
        yield answer


def _ask(client: httpx.Client, body: dict[str, Any], turn: int) -> Answer:
    """Streams one request; the first chunk with content is the first token."""
    begin, first, pieces = time.perf_counter(), None, []
    body = {**body, "stream": True, "stream_options": {"include_usage": True}}
    usage: dict[str, Any] = {}
    with client.stream("POST", "/v1/chat/completions", json=body) as answer:
        answer.raise_for_status()
        for line in answer.iter_lines():
            if not line.startswith("data: {"):
                continue
            chunk = json.loads(line.removeprefix("data: "))
            usage = chunk.get("usage") or usage
            piece = "".join(choice["delta"].get("content") or "" for choice in chunk["choices"])
            if piece and first is None:
                first = time.perf_counter() - begin
            pieces.append(piece)
    total = time.perf_counter() - begin
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    return Answer(
        turn, total if first is None else first, total, usage["prompt_tokens"], cached, "".join(pieces)
    )

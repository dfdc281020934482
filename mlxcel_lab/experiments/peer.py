"""mlx-lm's own server in this process, on its own prompt cache or on the lab's store, and the same traffic to each.

What is compared is what a client sees (cached tokens a turn) and what the cache holds after it (entries, bytes).
"""

from __future__ import annotations

import json
import sys
import threading
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import polars as pl

Conversations = Mapping[str, Sequence[str]]
"""Name -> the user's messages, the first of which opens the conversation."""

FRAME = {
    "server": pl.String,
    "conversation": pl.String,
    "turn": pl.Int64,
    "prompt_tokens": pl.Int64,
    "cached_tokens": pl.Int64,
    "entries": pl.Int64,
    "bytes": pl.Int64,
}


@contextmanager
def mlx_lm_server(model: Path, cache: Any) -> Iterator[str]:
    """mlx-lm's server on a model folder, with that prompt cache, on a free port; gives its address."""
    from ..engine import backend  # noqa: F401, I001  (before mlx: it brings OpenBLAS where there is one)

    import mlx_lm.server as server

    started = threading.Event()
    running: list[ThreadingHTTPServer] = []

    class Listening(ThreadingHTTPServer):
        def service_actions(self) -> None:
            if not running:
                running.append(self)
                started.set()

    generator = server.ResponseGenerator(_provider(server, model), cache)
    thread = threading.Thread(
        target=server._run_http_server,
        args=("127.0.0.1", 0, generator, Listening),
        name="mlx_lm.server",
        daemon=True,
    )
    # Its advice about production and its access log are not about a comparison on this machine.
    with (
        patch.object(server.APIHandler, "log_message", lambda *_: None),
        patch.object(server, "warnings", Mock()),
    ):
        thread.start()
        started.wait()
        try:
            yield f"http://127.0.0.1:{running[0].server_port}"
        finally:
            running[0].shutdown()
            running[0].server_close()
            thread.join()
            generator.stop_and_join()


def _held(
    url: str, name: str, cache: Any, conversations: Conversations, *, system: str, max_tokens: int
) -> pl.DataFrame:
    """Runs interleaved conversations against one server, each going on with the replies it got; a row a turn."""
    talks = {who: [{"role": "system", "content": system}] for who in conversations}
    rows = []
    for turn in range(max(len(said) for said in conversations.values())):
        for who, said in conversations.items():
            if turn < len(said):
                talks[who].append({"role": "user", "content": said[turn]})
                rows.append({"server": name, "conversation": who, "turn": turn + 1})
                rows[-1] |= _turn(url, talks[who], max_tokens) | {
                    "entries": len(cache),
                    "bytes": cache.nbytes,
                }
    return pl.DataFrame(rows, schema=FRAME)


def compare(
    model: Path, caches: Mapping[str, Any], conversations: Conversations, **options: Any
) -> pl.DataFrame:
    """The same traffic through mlx-lm's server on each of these caches, one after another."""
    frames = []
    for name, cache in caches.items():
        with mlx_lm_server(model, cache) as url:
            frames.append(_held(url, name, cache, conversations, **options))
    return pl.concat(frames)


def _turn(url: str, messages: list[dict[str, str]], max_tokens: int) -> dict[str, int]:
    """One chat request; the reply is appended to the messages."""
    body = json.dumps({"messages": messages, "max_tokens": max_tokens}).encode()
    request = urllib.request.Request(f"{url}/v1/chat/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        reply = json.load(answer)
    messages.append({"role": "assistant", "content": reply["choices"][0]["message"]["content"]})
    usage = reply["usage"]
    return {
        "prompt_tokens": usage["prompt_tokens"],
        "cached_tokens": usage["prompt_tokens_details"]["cached_tokens"],
    }


def _provider(server: Any, model: Path) -> Any:
    """mlx-lm's model provider with all of its server's defaults: only `main` knows them."""
    made: list[Any] = []
    arguments = ["mlx_lm.server", "--model", str(model), "--log-level", "ERROR"]
    with (
        patch.object(sys, "argv", arguments),
        patch.object(server, "run", lambda _host, _port, provider: made.append(provider)),
    ):
        server.main()
    return made[0]

"""Readers of public traces of hashed blocks: coding-agent sessions, Mooncake, Bailian.

Their prompts are known as ids of whole blocks; the tokens after the last whole block have no id and are always
forwarded. A boundary snapshot is taken `held_back` blocks before the prompt's end, since the last block is where a
generation prompt stands, which the history won't hold. What a reply adds is not in these files: see `replies.py`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from ..trace import Request, merged, num_ids
from .lines import Records, need


def coding_agent(
    records: Records,
    *,
    window_seconds: float = 86_400.0,
    seed: int = 0,
    subagents: bool = True,
    anchors: bool = False,
    held_back: int = 1,
) -> Iterator[Request]:
    """Coding-agent sessions (kv-cache-tester), one a line, 64-token blocks whose ids are local to the session.

    The file counts each session's seconds from its own start: the starts are spread evenly at random, from `seed`,
    over `window_seconds`. A nested sub-agent is a session of its own, named after its parent. `anchors` adds a
    boundary snapshot where a session's tools and system prompt end, at the session's first request.
    """
    starts = random.Random(seed)
    first_free = 0
    for number, record in records:
        start = starts.uniform(0.0, window_seconds)
        try:
            session, requests = need(record, "id", str), need(record, "requests", list)
            anchor = (record["tool_tokens"] + record["system_tokens"]) // 64 if anchors else 0
        except (ValueError, KeyError, TypeError) as error:
            records.refuse(number, str(error))
            continue
        highest = 0
        for name, offset, raw in _flattened(session, requests, subagents):
            try:
                request = _agent_request(raw, name, start + offset, first_free, anchor, held_back)
            except (ValueError, TypeError) as error:
                records.refuse(number, f"{name}: {error}")
                continue
            highest = max([highest, *(first + count for first, count in request.prompt)])
            anchor = anchor if name != session else 0
            yield request
        first_free = max(first_free, highest)


def _flattened(session: str, requests: list[Any], subagents: bool) -> Iterator[tuple[str, float, Any]]:
    for raw in requests:
        if isinstance(raw, dict) and raw.get("type") == "subagent":
            if subagents:
                name = f"{session}/{raw.get('agent_id', 'agent')}"
                for _, offset, inner in _flattened(name, raw.get("requests", []), True):
                    yield name, float(raw["t"]) + offset, inner
        else:
            yield session, float(raw["t"]) if isinstance(raw, dict) and "t" in raw else 0.0, raw


def _agent_request(raw: Any, name: str, time: float, first_free: int, anchor: int, held_back: int) -> Request:
    # Ids are local to the session: moving them up keeps two sessions' blocks apart.
    runs = [(int(first) + first_free, int(count)) for first, count in need(raw, "hash_runs", list)]
    inputs = raw.get("input_types") or []
    return Request(
        session=name,
        time=time,
        prompt=merged(runs),
        prompt_tokens=need(raw, "in", int),
        output_tokens=need(raw, "out", int),
        bucket=str(raw.get("model", "")),
        kind="subagent" if "/" in name else "tool" if "tool_result" in inputs else "user",
        boundaries=_cuts(num_ids(runs), held_back, anchor),
    )


def _cuts(ids: int, held_back: int, anchor: int = 0) -> list[int]:
    cuts = {ids - held_back, anchor}
    return sorted(at for at in cuts if 0 < at <= ids)


def mooncake(
    records: Records, *, held_back: int = 1, shared_blocks: int = 1, whole_blocks: bool = True
) -> Iterator[Request]:
    """Mooncake's traces: 512-token blocks, no session ids.

    Sessions are inferred by prefix: an id stands for a block and everything before it, so a request goes on in the
    session whose latest prompt's last whole block is the deepest among its own ids; failing that it opens a session.
    `whole_blocks` False keeps the last, partial block's id too, as block engines' tables count it: then a prompt counts
    as its blocks. The first `shared_blocks` ids are the system prompt that everybody shares and join nobody.
    """
    leaf_of: dict[int, str] = {}
    for number, record in records:
        try:
            ids = [int(i) for i in need(record, "hash_ids", list)]
            tokens, time = need(record, "input_length", int), need(record, "timestamp", (int, float)) / 1000
            output = need(record, "output_length", int)
            whole = tokens // 512
            if len(ids) < whole:
                raise ValueError(f"{len(ids)} hash_ids for {tokens} tokens: expected at least {whole}")
        except (ValueError, TypeError) as error:
            records.refuse(number, str(error))
            continue
        deepest = next((i for i in reversed(ids[shared_blocks:whole]) if i in leaf_of), None)
        session = f"request-{number}" if deepest is None else leaf_of.pop(deepest)
        if whole > shared_blocks:
            leaf_of[ids[whole - 1]] = session
        kept = whole if whole_blocks else len(ids)
        runs = merged((i, 1) for i in ids[:kept])
        yield Request(
            session, time, runs, max(tokens, kept * 512), output, boundaries=_cuts(whole, held_back)
        )


def bailian(records: Records, *, held_back: int = 1) -> Iterator[Request]:
    """Bailian's traces: 16-token blocks; a conversation is the chain of parent_chat_id up to its root (-1)."""
    root_of: dict[int, int] = {}
    for number, record in records:
        try:
            chat, parent = need(record, "chat_id", int), need(record, "parent_chat_id", int)
            ids = [int(i) for i in need(record, "hash_ids", list)]
            tokens, output = need(record, "input_length", int), need(record, "output_length", int)
            time = float(need(record, "timestamp", (int, float)))
            if len(ids) < tokens // 16:
                raise ValueError(f"{len(ids)} hash_ids for {tokens} tokens: expected at least {tokens // 16}")
        except (ValueError, TypeError) as error:
            records.refuse(number, str(error))
            continue
        if parent != -1 and parent not in root_of:
            records.refuse(
                number, f"parent_chat_id {parent} was not seen before: read as a session of its own"
            )
        root = root_of[chat] = root_of.get(parent, chat)
        runs = merged((i, 1) for i in ids[: tokens // 16])
        kind = str(record.get("type", "request"))
        yield Request(
            f"chat-{root}", time, runs, tokens, output, kind=kind, boundaries=_cuts(tokens // 16, held_back)
        )

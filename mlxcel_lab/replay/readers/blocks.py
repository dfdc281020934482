"""Readers of public traces of hashed blocks: coding-agent sessions, Mooncake, Bailian.

Their prompts are known as ids of whole blocks; the tokens after the last whole block have no id and are always
forwarded. A boundary snapshot is taken a block before the prompt's end, since the last block is where a generation
prompt stands, which the history won't hold. What a reply adds is not in these files: see `replies.py`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from ..trace import Request, check_request, merged, num_ids
from .lines import Records, count, need


def coding_agent(records: Records, *, window_seconds: float = 86_400.0, seed: int = 0) -> Iterator[Request]:
    """Coding-agent sessions (kv-cache-tester), one a line, 64-token blocks whose ids are local to the session.

    The file counts each session's seconds from its own start: the starts are spread evenly at random, from `seed`,
    over `window_seconds`. A nested sub-agent is a session of its own, named after its parent.
    """
    starts = random.Random(seed)
    first_free = 0
    for number, record in records:
        start = starts.uniform(0.0, window_seconds)
        try:
            session, requests = need(record, "id", str), need(record, "requests", list)
            if not requests:
                raise ValueError(f"{session}: no requests")
        except ValueError as error:
            records.refuse(number, str(error))
            continue
        highest = 0
        for name, time, raw in _flattened(records, number, session, requests, start):
            try:
                request = _agent_request(raw, name, time, first_free)
            except (ValueError, TypeError) as error:
                records.refuse(number, f"{name}: {error}")
                continue
            highest = max([highest, *(first + count for first, count in request.prompt)])
            yield request
        first_free = max(first_free, highest)


def _flattened(
    records: Records, number: int, session: str, requests: list[Any], start: float
) -> Iterator[tuple[str, float, dict[str, Any]]]:
    """Each request with its session and its time; those of a sub-agent count theirs from its start."""
    for raw in requests:
        try:
            time = start + float(need(raw, "t", (int, float)))
            inner = need(raw, "requests", list) if raw.get("type") == "subagent" else None
        except ValueError as error:
            records.refuse(number, f"{session}: {error}")
            continue
        if inner is None:
            yield session, time, raw
        else:
            name = f"{session}/{raw.get('agent_id', 'agent')}"
            yield from _flattened(records, number, name, inner, time)


def _agent_request(raw: dict[str, Any], name: str, time: float, first_free: int) -> Request:
    # Ids are local to the session: moving them up keeps two sessions' blocks apart.
    runs = [(_id(first) + first_free, num_blocks) for first, num_blocks in need(raw, "hash_runs", list)]
    inputs = raw.get("input_types") or []
    request = Request(
        session=name,
        time=time,
        prompt=merged(runs),
        prompt_tokens=count(raw, "in"),
        output_tokens=count(raw, "out"),
        bucket=str(raw.get("model", "")),
        kind="subagent" if "/" in name else "tool" if "tool_result" in inputs else "user",
        boundaries=_boundaries(num_ids(runs)),
    )
    check_request(request, 64)
    return request


def _id(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"the block id {value!r:.60}: expected a whole number, 0 or more")
    return value


def _whole_blocks(record: Any, tokens_per_block: int) -> tuple[list[int], int, int]:
    """A prompt's ids, its tokens, and how many blocks of it are whole."""
    ids, tokens = [_id(value) for value in need(record, "hash_ids", list)], count(record, "input_length")
    whole = tokens // tokens_per_block
    if len(ids) < whole:
        raise ValueError(f"{len(ids)} hash_ids for {tokens} tokens: expected at least {whole}")
    return ids, tokens, whole


def _boundaries(ids: int) -> list[int]:
    return [ids - 1] if ids > 1 else []


def mooncake(records: Records, *, whole_blocks: bool = True) -> Iterator[Request]:
    """Mooncake's traces: 512-token blocks, no session ids.

    Sessions are inferred by prefix: an id stands for a block and everything before it, so a request goes on in the
    session whose latest prompt's last whole block is the deepest among its own ids; failing that it opens a session.
    `whole_blocks` False keeps the last, partial block's id too, as block engines' tables count it: then a prompt counts
    as its blocks. The first id is the system prompt that everybody shares and joins nobody.
    """
    leaf_of: dict[int, str] = {}
    for number, record in records:
        try:
            ids, tokens, whole = _whole_blocks(record, 512)
            time, output = need(record, "timestamp", (int, float)) / 1000, count(record, "output_length")
        except ValueError as error:
            records.refuse(number, str(error))
            continue
        deepest = next((i for i in reversed(ids[1:whole]) if i in leaf_of), None)
        session = f"request-{number}" if deepest is None else leaf_of.pop(deepest)
        if whole > 1:
            leaf_of[ids[whole - 1]] = session
        kept = whole if whole_blocks else len(ids)
        runs = merged((i, 1) for i in ids[:kept])
        yield Request(session, time, runs, max(tokens, kept * 512), output, boundaries=_boundaries(whole))


def bailian(records: Records) -> Iterator[Request]:
    """Bailian's traces: 16-token blocks; a conversation is the chain of parent_chat_id up to its root (-1)."""
    root_of: dict[int, int] = {}
    for number, record in records:
        try:
            chat, parent = need(record, "chat_id", int), need(record, "parent_chat_id", int)
            ids, tokens, whole = _whole_blocks(record, 16)
            time, output = float(need(record, "timestamp", (int, float))), count(record, "output_length")
        except ValueError as error:
            records.refuse(number, str(error))
            continue
        if parent != -1 and parent not in root_of:
            records.refuse(
                number, f"parent_chat_id {parent} was not seen before: read as a session of its own"
            )
        root = root_of[chat] = root_of.get(parent, chat)
        runs = merged((i, 1) for i in ids[:whole])
        kind = str(record.get("type", "request"))
        yield Request(f"chat-{root}", time, runs, tokens, output, kind=kind, boundaries=_boundaries(whole))

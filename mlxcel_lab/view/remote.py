"""A server elsewhere as something to watch: its journal, followed over HTTP, kept here.

For a server of this lab (`/v1/cache/events`). One that has only counters is watched by `foreign`.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import httpx

from ..store import Event, Journal
from ..store.wire import event_from_json, journal_from_json

_SECONDS = 10
_EVENTS = "/v1/cache/events"


class NoJournalError(ValueError):
    """The server has no journal to follow; it may have counters (see `foreign`)."""


def is_address(thing: object) -> bool:
    """Whether it is a server's address, such as http://127.0.0.1:8080."""
    return isinstance(thing, str) and thing.startswith(("http://", "https://"))


def client_for(address: str, api_key: str | None = None) -> httpx.Client:
    headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
    # A connection a question: whoever watches may be dropped at any time, and then leaves none open.
    limits = httpx.Limits(max_keepalive_connections=0)
    return httpx.Client(base_url=address.rstrip("/"), headers=headers, timeout=_SECONDS, limits=limits)


def ask(client: httpx.Client, path: str, query: dict[str, Any] | None = None) -> httpx.Response | None:
    """The server's answer; None where it has no such path (404).

    Raises httpx's errors where the server can't be reached, ValueError for any other status than 200 and 404.
    """
    answer = client.get(path, params=query)
    if answer.status_code == httpx.codes.NOT_FOUND:
        return None
    if answer.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
        given = "refuses this API key" if "Authorization" in client.headers else "wants an API key"
        raise ValueError(f"{client.base_url} {given} ({answer.status_code}): give its own as api_key='...'")
    if answer.status_code != httpx.codes.OK:
        raise ValueError(f"{client.base_url} answers {path} with {answer.status_code} {answer.reason_phrase}")
    return answer


class RemoteJournal:
    """Keeps a copy of a server's journal; `update` fetches what is new. One thread at a time.

    Raises NoJournalError where the server has none, what `ask` raises where it doesn't answer, ValueError where it
    has started anew since: its events no longer go on from those that are kept here.
    """

    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        rows = self._fetch({"base": True, "tokens": True})[1]
        if not rows or rows[0].get("kind") != "base":
            raise self._no_journal()
        self.journal = journal_from_json(rows[0], rows[1:])

    def update(self) -> None:
        since = self.journal.next_seq
        known, rows = self._fetch({"since": since, "tokens": True})
        if known < since:
            raise ValueError(
                f"{self._client.base_url} has started anew (its journal ends at {known}): attach again"
            )
        for row in rows:
            _append(self.journal, event_from_json(row))

    def _fetch(self, query: dict[str, Any]) -> tuple[int, list[dict[str, Any]]]:
        answer = ask(self._client, _EVENTS, query)
        if answer is None:
            raise NoJournalError(f"{self._client.base_url} has no {_EVENTS}")
        try:
            rows = [json.loads(line) for line in answer.text.splitlines()]
        except ValueError:
            raise self._no_journal() from None
        if not all(isinstance(row, dict) for row in rows):
            raise self._no_journal()
        return int(answer.headers.get("X-Next-Seq", 0)), rows

    def _no_journal(self) -> NoJournalError:
        return NoJournalError(f"{self._client.base_url} answers {_EVENTS} with something else than a journal")


def _append(journal: Journal, event: Event) -> None:
    if event.seq != journal.next_seq:
        raise ValueError(f"event {journal.next_seq} is missing, the server sent {event.seq}: attach again")
    values = {field.name: getattr(event, field.name) for field in fields(event) if field.name != "seq"}
    journal.append(type(event), **values)

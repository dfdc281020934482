"""JSON records out of a file that may be large, compressed, one array or one record a line, and broken in places.

Which of the forms it has is seen in its first lines: one array, over several lines or not; one object over several
lines; else a record a line, which may itself be an array.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from ...files import BROKEN_GZIP, GZIP
from ..trace import Problem

_CHUNK = 1 << 20
_LONGEST_LINE = 1 << 24  # characters; an array whose first line is longer is one array


class Records:
    """Iterates (number, record) of a JSON or JSONL file, gzipped or not; what can't be read lands in `problems`.

    The number is the line in JSONL and the element in a JSON array, both from 1. Readers add problems of their own
    by `refuse`. Only one record is held at a time.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[Problem] = []

    def refuse(self, number: int, reason: str) -> None:
        """Count a record, or a part of one, as unreadable."""
        self.problems.append(Problem(number, reason))

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        number = 0
        try:
            for number, record in self._records():
                yield number, record
        except BROKEN_GZIP as error:
            self.refuse(number + 1, f"the gzip file breaks off here: {error}")

    def _records(self) -> Iterator[tuple[int, Any]]:
        with self._open() as stream:
            form = _form(stream)
        with self._open() as stream:
            if form == "array":
                yield from self._elements(stream)
            elif form == "object" and (record := _whole(stream)) is not None:
                yield 1, record
            else:
                stream.seek(0)
                yield from self._lines(stream)

    def _open(self) -> IO[str]:
        with self.path.open("rb") as raw:
            packed = raw.read(2) == GZIP
        opener = gzip.open if packed else open
        stream: IO[str] = opener(self.path, "rt", encoding="utf-8-sig", errors="replace")
        return stream

    def _lines(self, stream: IO[str]) -> Iterator[tuple[int, Any]]:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            try:
                yield number, json.loads(line)
            except json.JSONDecodeError as error:
                self.refuse(number, f"not JSON: {error}")

    def _elements(self, stream: IO[str]) -> Iterator[tuple[int, Any]]:
        decoder = json.JSONDecoder()
        text, number = stream.read(_CHUNK).lstrip()[1:], 0
        while True:
            text = text.lstrip(" \t\r\n,")
            if text.startswith("]"):
                return
            try:
                record, end = decoder.raw_decode(text)
                # A number at the very end of what was read may go on in the next chunk.
                if end == len(text):
                    raise json.JSONDecodeError("may go on", text, end)
            except json.JSONDecodeError as error:
                more = stream.read(max(_CHUNK, len(text)))
                if not more:
                    self.refuse(number + 1, f"the array breaks off here: {error}")
                    return
                text += more
                continue
            number += 1
            yield number, record
            text = text[end:]


def _form(stream: IO[str]) -> str:
    """array, object or lines."""
    first, following = _filled_line(stream), _filled_line(stream)
    if not first.startswith(("[", "{")):
        return "lines"
    try:
        json.loads(first)
        ends = True
    except json.JSONDecodeError as error:
        # What goes wrong only where the line ends may go on in the next one; elsewhere the line itself is broken.
        ends = len(first) < _LONGEST_LINE and error.pos < len(first) - 1
    if first.startswith("["):
        return "lines" if ends and following else "array"
    return "lines" if ends or not following else "object"


def _filled_line(stream: IO[str]) -> str:
    try:
        while line := stream.readline(_LONGEST_LINE):
            if line := line.strip():
                return line
    except BROKEN_GZIP:
        pass  # whoever reads the file after this comes to the same place, and says so
    return ""


def _whole(stream: IO[str]) -> Any:
    """The one record that is all of the file; None where it isn't one."""
    try:
        return json.load(stream)
    except json.JSONDecodeError:
        return None


def need(record: Any, field: str, kind: type | tuple[type, ...]) -> Any:
    """`record[field]`, which must be of that type; a ValueError that names the field otherwise."""
    if not isinstance(record, dict):
        raise ValueError(f"expected an object, not {type(record).__name__}")
    value = record.get(field)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{field!r} is {value!r:.60}")
    return value


def count(record: Any, field: str) -> int:
    """`record[field]`, a whole number, 0 or more; a ValueError that names the field otherwise."""
    value: int = need(record, field, int)
    if value < 0:
        raise ValueError(f"{field!r} is {value}: expected 0 or more")
    return value

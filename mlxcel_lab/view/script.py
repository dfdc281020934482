"""Scripts of conversations: who says what in which order, and when the clock moves.

A line is `session: message`, with ` => reply` where the reply is given, or `wait SECONDS`. In a file an indented line
goes on, and `#` begins a comment.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..paths import data_dir

_REPLY = " => "


@dataclass(frozen=True, slots=True)
class Say:
    """One turn of a conversation; without a reply the model speaks."""

    session: str
    message: str
    reply: str | None = None

    def line(self) -> str:
        return f"{self.session}: {self.message}" + ("" if self.reply is None else f"{_REPLY}{self.reply}")


@dataclass(frozen=True, slots=True)
class Wait:
    """The clock moves on by that many seconds."""

    seconds: float

    def line(self) -> str:
        return f"wait {self.seconds:g}"


Step = Say | Wait


def parse_line(line: str) -> Step:
    """One step out of its line; a ValueError says what a line looks like."""
    if line.split(":")[0].split(" ")[0] == "wait" and ":" not in line:
        return Wait(_seconds(line))
    session, colon, rest = line.partition(":")
    message, arrow, reply = f"{rest} ".partition(_REPLY)
    if not (colon and session.strip() and message.strip()) or (arrow and not reply.strip()):
        raise ValueError(
            f"{line!r} is no step: expected 'session: message', maybe ' => reply', or 'wait SECONDS'"
        )
    return Say(session.strip(), message.strip(), reply.strip() if arrow else None)


def parse(lines: Iterable[str]) -> tuple[Step, ...]:
    """The steps of lines as they stand in a file; an error names the line."""
    steps: list[Step] = []
    for number, line in _joined(lines):
        try:
            steps.append(parse_line(line))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    return tuple(steps)


def script_names() -> tuple[str, ...]:
    """The scripts that ship with the lab."""
    return tuple(sorted(path.stem for path in (data_dir() / "conversations").glob("*.txt")))


def load_script(name: str | Path) -> tuple[Step, ...]:
    """A script by its name, or from a file of one's own."""
    path = data_dir() / "conversations" / f"{name}.txt" if name in script_names() else Path(name)
    if not path.is_file():
        raise ValueError(
            f"unknown script {str(name)!r}: expected one of {', '.join(script_names())}, or a file"
        )
    return parse(path.read_text(encoding="utf-8").splitlines())


def _seconds(line: str) -> float:
    try:
        seconds = float(line.removeprefix("wait"))
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds >= 0):
        raise ValueError(f"{line!r}: expected 'wait' and a number of seconds, 0 or more")
    return seconds


def _joined(lines: Iterable[str]) -> list[tuple[int, str]]:
    """Numbered lines, with the indented ones put behind the line that they go on from."""
    joined: list[tuple[int, str]] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line[0].isspace() and joined:
            joined[-1] = (joined[-1][0], f"{joined[-1][1]} {line.strip()}")
        else:
            joined.append((number, line.strip()))
    return joined

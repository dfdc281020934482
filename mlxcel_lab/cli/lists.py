"""Lists on the command line: whole numbers with commas between them."""

from __future__ import annotations

from typing import Any

import click


class WholeNumbers(click.ParamType):
    """`256,1024` as a tuple of whole numbers, 1 or more; `8k` is 8000 where `thousands` are allowed."""

    name = "numbers"

    def __init__(self, *, thousands: bool = False) -> None:
        self._thousands = thousands

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        try:
            numbers = tuple(self._number(part.strip()) for part in value.split(","))
        except ValueError:
            numbers = ()
        if not numbers or min(numbers) < 1:
            like = " (8k for 8000)" if self._thousands else ""
            self.fail(
                f"{value!r}: expected whole numbers{like}, 1 or more, with commas between them", param, ctx
            )
        return numbers

    def _number(self, text: str) -> int:
        if not (self._thousands and text[-1:] in ("k", "K")):
            return int(text)
        number = 1000 * float(text[:-1])
        if not number.is_integer():  # infinity and no number at all aren't, either
            raise ValueError
        return int(number)

"""The prompt cache's flags, out of the one table in config.py, for every command that takes them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from ..config import SETTINGS, PromptCacheConfig, Resolved, Setting, resolve


def prompt_cache_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the prompt cache's flags; it gets their resolution as the keyword `prompt_cache`.

    A bad flag is a usage error. Put it directly above the function, below the command's other options.
    """

    @wraps(command)
    def resolved(*args: Any, **kwargs: Any) -> Any:
        flags = {s.field: kwargs.pop(s.field) for s in SETTINGS if s.flag}
        return command(*args, prompt_cache=_resolve(flags), **kwargs)

    decorated: Callable[..., Any] = resolved
    for setting in reversed(SETTINGS):
        if setting.flag:
            decorated = _option(setting, setting.flag)(decorated)
    return decorated


def _resolve(flags: dict[str, Any]) -> Resolved:
    try:
        return resolve(flags)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _option(setting: Setting, flag: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    default = getattr(PromptCacheConfig(), setting.field)
    zero = f" 0: {setting.zero}." if setting.zero else ""
    told = f"{setting.help}{zero} [env: {setting.environment}; default: {str(default).lower()}]"
    if isinstance(default, bool):
        names = f"{flag}/--no-prompt-cache"
        return click.option(names, setting.field, default=None, help=told)
    metavar = "RULE" if isinstance(default, str) else "NUMBER"
    # The texts go to `resolve` as they are, so that a flag is read by the same rules as the environment.
    return click.option(flag, setting.field, metavar=metavar, help=told)

"""What a server is started with beside the cache's own configuration."""

from __future__ import annotations

from dataclasses import dataclass

ANONYMOUS_SESSION = "__mlxcel_anon__"
"""Every caller that names no session shares this one, as in mlxcel."""

MAX_EVENTS = 100_000
"""Events that a server's journal keeps, unless told otherwise: it must not grow for ever."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Bounds of what one client may ask, and the key that opens the server.

    Sizes are in bytes, `max_waiting` counts requests that run or wait. `api_key` None leaves the server open.
    """

    model_name: str
    api_key: str | None = None
    max_body_bytes: int = 4 * 1024 * 1024
    max_messages: int = 1024
    max_tokens: int = 4096
    default_max_tokens: int = 256
    max_waiting: int = 64

    def __post_init__(self) -> None:
        for name in ("max_body_bytes", "max_messages", "max_tokens", "default_max_tokens", "max_waiting"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.api_key == "":
            raise ValueError("the API key is empty: give one, or none at all to leave the server open")

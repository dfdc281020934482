"""The chat request as OpenAI's clients send it. What the server doesn't support is refused by name.

A field that is there but null counts as absent: clients send those for their own bookkeeping.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unsupported(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        given = {name: value for name, value in data.items() if value is not None}
        unsupported = sorted(str(name) for name in given if name not in cls.model_fields)
        if unsupported:
            raise ValueError(
                f"unsupported: {', '.join(unsupported)}; supported: {', '.join(cls.model_fields)}"
            )
        return given


class TextPart(_Strict):
    type: Literal["text"]
    text: str


class FunctionCall(_Strict):
    name: str
    arguments: str = "{}"


class ToolCall(_Strict):
    id: str = ""
    type: Literal["function"] = "function"
    function: FunctionCall


class Message(_Strict):
    """One message of a conversation; content is text or text parts, and may be absent beside tool calls."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[TextPart] | None = None
    name: str | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None
    reasoning_content: str | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Message:
        if self.content is None and not self.tool_calls:
            raise ValueError("a message needs content (or, from the assistant, tool_calls)")
        return self

    def plain(self) -> dict[str, Any]:
        """The message as chat templates want it: content as one text, `developer` as `system`."""
        message = self.model_dump(exclude_none=True)
        if isinstance(self.content, list):
            message["content"] = "".join(part.text for part in self.content)
        message.setdefault("content", "")
        if self.role == "developer":
            message["role"] = "system"
        return message


class FunctionSpec(_Strict):
    name: str = Field(min_length=1, max_length=128)
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class Tool(_Strict):
    type: Literal["function"]
    function: FunctionSpec


class StreamOptions(_Strict):
    include_usage: bool = False


Stop = Annotated[list[Annotated[str, Field(min_length=1)]], Field(max_length=4)]


class ChatRequest(_Strict):
    """The body of `POST /v1/chat/completions`."""

    model: str
    messages: list[Message] = Field(min_length=1)
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    temperature: float = Field(0.0, ge=0, le=2, strict=False)
    top_p: float = Field(1.0, gt=0, le=1, strict=False)
    seed: int | None = Field(None, ge=0, lt=2**63)
    stop: Annotated[str, Field(min_length=1)] | Stop | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: Literal[1] = 1
    tools: list[Tool] | None = None
    tool_choice: Literal["auto", "none"] = "auto"
    user: str | None = None
    prompt_cache_key: str | None = None
    chat_template_kwargs: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _one_limit(self) -> ChatRequest:
        if self.max_tokens is not None and self.max_completion_tokens is not None:
            raise ValueError("give max_completion_tokens or max_tokens, not both")
        if self.stream_options is not None and not self.stream:
            raise ValueError("stream_options needs stream: true")
        return self

    def session(self, anonymous: str) -> str:
        """The first non-empty of `prompt_cache_key` and `user`, else the anonymous session."""
        return self.prompt_cache_key or self.user or anonymous

    def limit(self, default: int) -> int:
        return self.max_completion_tokens or self.max_tokens or default

    def stops(self) -> list[str]:
        return [self.stop] if isinstance(self.stop, str) else list(self.stop or ())

    def plain_tools(self) -> list[dict[str, Any]] | None:
        """The tools as chat templates want them; None where there are none or they are switched off."""
        if not self.tools or self.tool_choice == "none":
            return None
        return [tool.model_dump(exclude_none=True) for tool in self.tools]

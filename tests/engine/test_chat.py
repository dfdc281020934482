"""Rendering, the template's signature, the history boundary and the warm-up's target, counted by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxcel_lab.engine.chat import (
    TemplateSignature,
    history_boundary,
    render,
    template_signature,
    warmup_target,
)
from mlxcel_lab.engine.messages import normalise
from mlxcel_lab.store import common_prefix

from ..toy_tokenizer import PLAIN, REFUSING, THINKING, ToyTokenizer

USER = {"role": "user", "content": "hi"}
THOUGHT = {"role": "assistant", "content": "<think>hm</think>yes"}
NEXT = {"role": "user", "content": "and?"}
TOOL = {"type": "function", "function": {"name": "find", "parameters": {}}}


def _boundary(tokenizer, messages, **kwargs):
    return history_boundary(tokenizer, messages, min_prefix_tokens=1, **kwargs)


def test_a_rendering_is_a_read_only_int32_vector_of_the_templates_text():
    tokenizer = ToyTokenizer()
    tokens = render(tokenizer, [USER])
    assert tokenizer.decode(tokens) == "<|user|>hi<|end|><|assistant|>"
    assert tokens.dtype == np.int32
    assert not tokens.flags.writeable


def test_template_arguments_reach_the_template_and_the_renderings_own_are_refused():
    tokenizer = ToyTokenizer(THINKING)
    assert tokenizer.decode(render(tokenizer, [USER], enable_thinking=False)).endswith("<think></think>")
    with pytest.raises(TypeError, match="'tokenize' isn't a template argument"):
        render(tokenizer, [USER], tokenize=False)


def test_a_refusal_of_the_template_says_what_the_template_said():
    with pytest.raises(
        ValueError, match=r"refuses this conversation \(user\): Conversation roles must alternate"
    ):
        render(ToyTokenizer(REFUSING), [USER])


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ messages[0].content + 1 }}", "can only concatenate str"),
        ("{{ 1 // 0 }}", "ZeroDivisionError"),
        ("{{ messages[0]['content'][9].x }}", "has no element 9|undefined"),
        ("{% for x in 5 %}{% endfor %}", "not iterable"),
        ("{% if %}", "Expected an expression"),
    ],
)
def test_whatever_goes_wrong_inside_a_template_is_its_refusal(template, said):
    with pytest.raises(
        ValueError, match=rf"the chat template refuses this conversation \(user\): .*({said})"
    ) as got:
        render(ToyTokenizer(template), [USER])
    assert got.value.__cause__ is not None


def test_normalising_joins_text_parts_fills_missing_content_and_parses_arguments():
    call = {"id": "a", "type": "function", "function": {"name": "find", "arguments": '{"q": 1}'}}
    given_messages = [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "assistant", "content": "x", "tool_calls": None},
    ]
    made = normalise(given_messages)
    assert [m["content"] for m in made] == ["ab", "", "x"]
    assert made[1]["tool_calls"][0]["function"]["arguments"] == {"q": 1}
    assert "tool_calls" not in made[2]
    assert call["function"]["arguments"] == '{"q": 1}', "the caller's messages are left alone"


@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        ([], "messages is empty"),
        ([{"content": "no role"}], "message 0 is"),
        (["hi"], "message 0 is 'hi'"),
        ([{"role": "user", "content": [{"type": "image_url"}]}], "a part that isn't text"),
        (
            [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}],
            "aren't JSON",
        ),
        ([{"role": "assistant", "tool_calls": [{}]}], "expected a function with a name"),
        ([{"role": "user"}, {"role": "assistant", "tool_calls": ["a"]}], "message 1 has the tool call 'a'"),
        ([{"role": "assistant", "tool_calls": [None]}], "message 0 has the tool call None"),
        ([{"role": "assistant", "tool_calls": 5}], "message 0 has the tool_calls 5: expected a list"),
        ([{"role": "assistant", "tool_calls": {"function": {}}}], "message 0 has the tool_calls {'function'"),
    ],
)
def test_what_isnt_a_conversation_is_refused_by_its_message(messages, complaint):
    with pytest.raises(ValueError, match=complaint):
        normalise(messages)


def test_the_boundary_of_a_plain_template_is_where_the_generation_prompt_begins():
    assert _boundary(ToyTokenizer(), [USER]) == len("U") + len("hi") + len("E")


@pytest.mark.parametrize("role", ["system", "tool", "user", "assistant"])
def test_whatever_the_last_role_is_the_whole_conversation_is_history(role):
    messages = [{"role": role, "content": "abc"}]
    assert _boundary(ToyTokenizer(), messages) == 5


def test_the_boundary_survives_the_next_turn_where_the_completion_does_not():
    tokenizer = ToyTokenizer(THINKING)
    prompt = render(tokenizer, [USER])
    boundary = _boundary(tokenizer, [USER])
    following = render(tokenizer, [USER, THOUGHT, NEXT])
    completion = np.array([*prompt, *tokenizer.encode("<think>hm</think>yes")])
    assert np.array_equal(following[:boundary], prompt[:boundary])
    assert common_prefix(completion, following) < len(completion)


def test_a_boundary_below_the_minimum_or_of_the_whole_prompt_is_none():
    tokenizer = ToyTokenizer()
    assert history_boundary(tokenizer, [USER], min_prefix_tokens=4) == 4
    assert history_boundary(tokenizer, [USER], min_prefix_tokens=5) is None
    assert _boundary(ToyTokenizer(PLAIN.replace("add_generation_prompt", "false")), [USER]) is None
    assert _boundary(ToyTokenizer("{% if add_generation_prompt %}a{% endif %}b"), [USER]) is None


def test_a_template_that_renders_only_with_a_generation_prompt_has_no_boundary():
    picky = "{% if not add_generation_prompt %}{{ raise_exception('no') }}{% endif %}abc"
    assert _boundary(ToyTokenizer(picky), [USER]) is None


def test_a_warm_up_reaches_over_the_reply_to_the_next_messages_header():
    tokenizer = ToyTokenizer()
    target = warmup_target(tokenizer, [USER], "yes")
    assert tokenizer.decode(target) == "<|user|>hi<|end|><|assistant|>yes<|end|><|user|>"


def test_a_warm_up_has_the_reply_as_the_next_rendering_will_have_it():
    tokenizer = ToyTokenizer(THINKING)
    target = warmup_target(tokenizer, [USER], THOUGHT)
    assert "hm" not in tokenizer.decode(target)
    assert "hm" in tokenizer.decode(render(tokenizer, [USER, THOUGHT], add_generation_prompt=False))


@pytest.mark.parametrize("content", ["and?", "\nindented", "0", "Why not?", " space"])
def test_a_warm_up_holds_nothing_that_depends_on_the_next_message(content):
    tokenizer = ToyTokenizer(THINKING)
    target = warmup_target(tokenizer, [USER], THOUGHT)
    following = render(tokenizer, [USER, THOUGHT, {"role": "user", "content": content}])
    assert np.array_equal(target, following[: len(target)])


def test_after_a_tool_call_the_next_message_is_its_result():
    tokenizer = ToyTokenizer()
    call = {"id": "a", "function": {"name": "find", "arguments": {}}}
    target = warmup_target(tokenizer, [USER], {"role": "assistant", "content": "", "tool_calls": [call]})
    assert tokenizer.decode(target).endswith("find({})<|end|><|tool|>")


@pytest.mark.parametrize("content", ["", "\n", " ", "\n\n", "open", "\nopen"])
@pytest.mark.parametrize("trim", ["", " | trim"])
def test_a_warm_up_after_a_tool_call_holds_nothing_that_depends_on_the_result_even_on_none(content, trim):
    """Around an empty result two line breaks stand together, and are one token."""
    tokenizer = ToyTokenizer(PLAIN.replace("{{ m.content }}", f"\n{{{{ m.content{trim} }}}}\n"))
    call = {"id": "a", "function": {"name": "find", "arguments": {}}}
    said = {"role": "assistant", "content": "", "tool_calls": [call]}
    target = warmup_target(tokenizer, [USER], said)
    result = {"role": "tool", "tool_call_id": "a", "name": "find", "content": content}
    following = render(tokenizer, [USER, said, result])
    assert np.array_equal(target, following[: len(target)])
    assert tokenizer.decode(target).endswith("find({})<|end|><|tool|>")


def test_a_signature_says_which_of_its_parts_differ_and_comes_back_from_its_text():
    plain = template_signature(ToyTokenizer())
    tools = template_signature(ToyTokenizer(), [TOOL])
    options = template_signature(ToyTokenizer(), enable_thinking=False)
    other = template_signature(ToyTokenizer(THINKING))
    assert plain.differing(tools) == ("tools",)
    assert plain.differing(options) == ("options",)
    assert plain.differing(other) == ("template",)
    assert plain.differing(template_signature(ToyTokenizer())) == ()
    for signature in (plain, tools, options, other):
        assert TemplateSignature.parse(str(signature)) == signature
    assert '"enable_thinking": false' in str(options)


@pytest.mark.parametrize("text", ["", "abc", "template=a", "tools=0 options={}"])
def test_a_foreign_signature_is_refused(text):
    with pytest.raises(ValueError, match="not a template signature"):
        TemplateSignature.parse(text)


@given(st.text("ab\n<>|", max_size=12), st.text("ab\n", min_size=1, max_size=6), st.booleans())
def test_boundaries_and_warm_ups_are_prefixes_of_the_next_prompt(question, following, plain):
    tokenizer = ToyTokenizer(PLAIN if plain else THINKING)
    messages = [{"role": "user", "content": question}]
    prompt = render(tokenizer, messages)
    target = warmup_target(tokenizer, messages, THOUGHT)
    after = render(tokenizer, [*messages, THOUGHT, {"role": "user", "content": following}])
    boundary = _boundary(tokenizer, messages)
    assert boundary is not None
    assert boundary < len(prompt)
    assert np.array_equal(prompt[:boundary], after[:boundary])
    assert np.array_equal(target, after[: len(target)])

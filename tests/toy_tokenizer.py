"""A tokenizer small enough to count by hand, with the interface that the chat functions use.

A token is a character, but `<|…|>` and a double newline are one token each: the latter is how real tokenizers cut a
header's newline together with a message that begins with one.
"""

import re

import jinja2

PLAIN = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}"
    "{% for c in m.tool_calls or [] %}{{ c.function.name }}({{ c.function.arguments | tojson }}){% endfor %}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
THINKING = (
    "{% if tools %}<|tools|>{{ tools | tojson }}<|end|>{% endif %}{% set ns = namespace(last=-1) %}"
    "{% for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}"
    "{% for m in messages %}<|{{ m.role }}|>\n"
    "{% if m.role == 'assistant' and loop.index0 < ns.last %}{{ m.content.split('</think>')[-1] }}"
    "{% else %}{{ m.content }}{% endif %}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% if enable_thinking is defined and not enable_thinking %}"
    "<think></think>{% endif %}{% endif %}"
)
REFUSING = "{{ raise_exception('Conversation roles must alternate') }}"


def _refuse(reason):
    raise jinja2.TemplateError(reason)


class ToyTokenizer:
    def __init__(self, chat_template=PLAIN):
        self.chat_template = chat_template
        self.globals = {"raise_exception": _refuse}
        self._ids = {}

    def apply_chat_template(self, messages, *, tools, add_generation_prompt, tokenize, return_dict, **kwargs):
        environment = jinja2.Environment()
        environment.globals.update(self.globals)
        text = environment.from_string(self.chat_template).render(
            messages=messages, tools=tools, add_generation_prompt=add_generation_prompt, **kwargs
        )
        return self.encode(text)

    def encode(self, text):
        pieces = re.findall(r"<\|\w+\|>|\n\n|.|\n", text)
        return [self._ids.setdefault(piece, len(self._ids)) for piece in pieces]

    def decode(self, tokens):
        names = list(self._ids)
        return "".join(names[token] for token in tokens)

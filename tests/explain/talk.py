"""Conversations against a real store, without a model: replies are given, states are empty."""

import numpy as np

from mlxcel_lab.config import PromptCacheConfig
from mlxcel_lab.engine.chat import history_boundary, template_signature
from mlxcel_lab.explain import Asked, explain
from mlxcel_lab.store import Bucket, CacheKey, Origin, Snapshot, SnapshotStore

from ..toy_tokenizer import PLAIN, ToyTokenizer

SYSTEM = {"role": "system", "content": "You are a helpful clerk. Answer in a word."}


def user(content):
    return {"role": "user", "content": content}


def said(content, **more):
    return {"role": "assistant", "content": content, **more}


FIRST = [SYSTEM, user("Is it open?")]
REPLY = "yes, it is"
NEXT = [*FIRST, said(REPLY), user("And now?")]
# A generation prompt of two tokens that the history has otherwise.
SCAFFOLD = PLAIN.replace("<|assistant|>{% endif %}", "<|assistant|><|live|>{% endif %}")


class Talk:
    """One store, one tokenizer, and every turn that was taken; `seconds` is the store's clock."""

    def __init__(self, template, *, boundary=False, size=100, rule=None, journal=None, **settings):
        self.seconds = 0.0
        self.tokenizer = ToyTokenizer(template)
        config = PromptCacheConfig(**{"min_prefix_tokens": 4, "snapshot_capacity_bytes": 10_000, **settings})
        self.store = SnapshotStore(config, clock=lambda: self.seconds, rule=rule, journal=journal)
        self.boundary = boundary
        self.size = size
        self.turns = []

    def ask(self, messages, session="s", tools=None, model="m", **kwargs):
        signature = str(template_signature(self.tokenizer, tools, **kwargs))
        key = CacheKey(Bucket(model_id=model, template_sig=signature), session)
        asked = Asked.rendered(self.tokenizer, key, messages, tools, **kwargs)
        return self.store.lookup(key, asked.prompt, reserve=1), asked

    def turn(self, messages, reply, session="s", completion=None, tools=None, **kwargs):
        """Ask, answer with `reply`, donate; `completion` are the sampled tokens where they aren't the reply's."""
        outcome, asked = self.ask(messages, session, tools, **kwargs)
        where = history_boundary(self.tokenizer, messages, tools, min_prefix_tokens=1, **kwargs)
        if self.boundary and where:
            self.donate(asked.key, asked.prompt[:where], Origin.BOUNDARY)
        tokens = self.tokenizer.encode(reply) if completion is None else completion
        answered = asked.answered(np.array(tokens, np.int32), reply)
        self.donate(asked.key, answered.full)
        self.turns.append(answered)
        return outcome

    def donate(self, key, tokens, origin=Origin.COMPLETION):
        return self.store.insert(key, Snapshot(tokens, self.size, origin))

    def hold(self, turns):
        """A conversation of so many turns, after which its messages are returned: system, user, assistant, ..."""
        messages = [SYSTEM]
        for number in range(turns):
            messages.append(user(f"Question {number}?"))
            self.turn([*messages], f"answer {number}")
            messages.append(said(f"answer {number}"))
        return messages

    def why(self, messages, session="s", **kwargs):
        outcome, asked = self.ask(messages, session, **kwargs)
        journal, words = self.store.journal, self.tokenizer
        seq = journal.next_seq - 1
        return explain(outcome, asked, tokenizer=words, earlier=self.turns, journal=journal, seq=seq)

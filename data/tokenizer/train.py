"""Trains the lab's tokenizer from the two texts beside it; run once, the result is committed.

A byte-level BPE (so that any text encodes) whose merges contain every word of words.txt whole, with a space before it.
Run from anywhere: python data/tokenizer/train.py
"""

from __future__ import annotations

import json
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

HERE = Path(__file__).resolve().parent
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
# One token each, but text: a reply's reasoning and its tool calls are part of what it says.
MARKERS = ("<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>")


def main() -> None:
    words = (HERE / "words.txt").read_text().split()
    phrases = (HERE / "phrases.txt").read_text().splitlines()
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=4096,  # an upper bound: training ends when every word is whole
        min_frequency=3,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=list(SPECIAL),
    )
    corpus = [*(f" {word}" for word in words for _ in range(8)), *(p for p in phrases for _ in range(4))]
    tokenizer.train_from_iterator(corpus, trainer)
    tokenizer.add_tokens([AddedToken(m, normalized=False, special=False) for m in MARKERS])
    tokenizer.save(str(HERE / "tokenizer.json"), pretty=False)
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "model_max_length": 131072,
        "clean_up_tokenization_spaces": False,
    }
    (HERE / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")
    split = [w for w in words if len(tokenizer.encode(f" {w}").ids) != 1]
    print(f"{tokenizer.get_vocab_size()} tokens; words that aren't whole: {split or 'none'}")


if __name__ == "__main__":
    main()

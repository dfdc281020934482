"""Small configs, one per kind of cache that mlx-lm has, and their geometries."""

from functools import cache

from mlxcel_lab.engine.geometry import Geometry, build
from mlxcel_lab.engine.sizing import find_config

DENSE = {
    "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 64, "vocab_size": 32, "rms_norm_eps": 1e-5,
}  # fmt: skip
WINDOW = {
    "model_type": "gemma3_text", "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 32, "intermediate_size": 64, "vocab_size": 32, "sliding_window": 300,
    "sliding_window_pattern": 3,
}  # fmt: skip
HYBRID = {
    "model_type": "falcon_h1", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 32, "mamba_n_heads": 2, "mamba_d_head": 32, "mamba_d_state": 16,
    "mamba_d_ssm": 64, "mamba_n_groups": 1, "mamba_d_conv": 4,
}  # fmt: skip
GATED = {
    "model_type": "qwen3_5",
    "text_config": {
        "model_type": "qwen3_5_text", "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 2,
        "num_key_value_heads": 1, "head_dim": 32, "intermediate_size": 64, "vocab_size": 32, "rms_norm_eps": 1e-6,
        "linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 32, "max_position_embeddings": 9,
        "linear_value_head_dim": 32, "linear_conv_kernel_dim": 4, "full_attention_interval": 4,
    },
}  # fmt: skip
CHUNKED = {
    "model_type": "llama4",
    "text_config": {
        "model_type": "llama4_text", "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 2,
        "head_dim": 32, "num_key_value_heads": 1, "intermediate_size": 64, "intermediate_size_mlp": 64,
        "vocab_size": 32, "attention_chunk_size": 400, "rms_norm_eps": 1e-5, "rope_theta": 1e4, "attention_bias": False,
        "num_experts_per_tok": 1, "num_local_experts": 2, "interleave_moe_layer_step": 2, "max_position_embeddings": 9,
        "use_qk_norm": True, "attn_temperature_tuning": 4, "floor_scale": 8192, "attn_scale": 0.1, "rope_scaling": None,
    },
}  # fmt: skip
FAMILIES = {"dense": DENSE, "window": WINDOW, "hybrid": HYBRID, "gated": GATED, "chunked": CHUNKED}
GEOMETRIES = {name: build(config) for name, config in FAMILIES.items()}


@cache
def known(name: str) -> Geometry:
    """The geometry of a config of data/configs, built once for all tests."""
    return build(find_config(name))

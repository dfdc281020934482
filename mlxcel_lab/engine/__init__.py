"""Everything that touches MLX: models, their cached state, and turns of a conversation."""

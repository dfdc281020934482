"""What the notebooks run, so that a cell says what is done and leaves the how to the library.

`stores` and `thrash` need no model and load no MLX; `talk` holds conversations with an engine.
"""

from .stores import donate, open_store, stream, summary
from .thrash import Published, diverging, extending, play, published_thrash

__all__ = [
    "Published", "diverging", "donate", "extending", "open_store", "play", "published_thrash", "stream", "summary",
]  # fmt: skip

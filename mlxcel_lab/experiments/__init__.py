"""What the notebooks run, so that a cell says what is done and leaves the how to the library.

Without a model: `stores` and `thrash`. With a dry one: `clinic` (a case for every cause of a miss), `rehearsal` (a
person's conversations from a `messages_file`) and `cure` (what boundaries and warm-ups do); `sizes` measures caches.
With one that runs: `talk`. Over HTTP: `serving` is the lab's server, `peer` mlx-lm's, `inside_mlx_lm` mlx-lm's on the
lab's store, and `faults` what its cache does wrong. `values` refuses parameters that a notebook can't answer.
"""

from .stores import donate, open_store, stream, summary
from .thrash import Published, diverging, extending, play, published_thrash

__all__ = [
    "Published", "diverging", "donate", "extending", "open_store", "play", "published_thrash", "stream", "summary",
]  # fmt: skip

"""Models to talk to: a lab model by name, a local folder, or a hub id.

A lab model is a config.json of this project's data/ with weights from a fixed seed: real code of mlx-lm, real caches of
one kind each, megabytes, and no meaning. It babbles whole words, so that its replies re-tokenise to what was sampled.
Everything else goes through `mlx_lm.load`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..paths import data_dir
from .configs import find_config, is_hub_id, lab_models
from .worker import mlx_thread


@dataclass(frozen=True, eq=False)
class LabModel:
    """A model, its tokenizer and whose state its snapshots are (`model_id`)."""

    name: str
    model: Any = field(repr=False)
    tokenizer: Any = field(repr=False)
    config: dict[str, Any] = field(repr=False)
    model_id: str = ""


def templates() -> tuple[str, ...]:
    """The names of the chat templates that ship with the lab."""
    return tuple(sorted(path.stem for path in (data_dir() / "templates").glob("*.jinja")))


def load(name: str | Path, *, template: str | None = None) -> LabModel:
    """Loads a model on the MLX thread.

    `name`: one of `lab_models()`, a folder that mlx-lm can load, or a hub id such as "mlx-community/…".
    `template`: one of `templates()` or a chat template's own text, instead of the model's (lab models: "plain").
    Raises ValueError for a name that is none of these.
    """
    chat_template = None if template is None else chat_template_text(template)
    if str(name) in lab_models():
        return mlx_thread().run(lambda: _load_lab(str(name), chat_template or chat_template_text("plain")))
    if not (Path(name) / "config.json").is_file() and not is_hub_id(str(name)):
        raise ValueError(
            f"unknown model {str(name)!r}: expected a lab model ({', '.join(lab_models())}), a folder with a "
            "config.json, or a hub id like 'mlx-community/Qwen3.5-0.8B-4bit'"
        )
    return mlx_thread().run(lambda: _load_checkpoint(str(name), chat_template))


def load_lab_tokenizer(chat_template: str | None = None) -> Any:
    """The lab's own tokenizer, wrapped as mlx-lm's."""
    from . import backend  # noqa: F401, I001  (before mlx: see there)
    from mlx_lm.utils import load_tokenizer

    tokenizer = load_tokenizer(data_dir() / "tokenizer")
    return with_template(tokenizer, chat_template or chat_template_text("plain"))


def with_template(tokenizer: Any, chat_template: str) -> Any:
    """Gives a tokenizer that chat template; a template brought along in code is set aside."""
    tokenizer._tokenizer.chat_template = chat_template
    tokenizer._chat_template = None
    tokenizer.has_chat_template = True
    return tokenizer


def chat_template_text(template: str) -> str:
    """The text of a shipped template, or the text given. Raises ValueError for a name that isn't one."""
    if template in templates():
        return (data_dir() / "templates" / f"{template}.jinja").read_text(encoding="utf-8")
    if "{" in template:
        return template
    raise ValueError(
        f"unknown chat template {template!r}: expected one of {', '.join(templates())}, or a template's own text"
    )


def _load_lab(name: str, chat_template: str) -> LabModel:
    from .babble import seeded_model
    from .backend import mx

    config = find_config(name)
    tokenizer = load_lab_tokenizer(chat_template)
    model = seeded_model(config, tokenizer)
    mx.eval(model.parameters())
    return LabModel(name, model, tokenizer, config, model_id=f"lab/{name}")


def _load_checkpoint(name: str, chat_template: str | None) -> LabModel:
    from . import backend  # noqa: F401, I001  (before mlx: see there)
    import mlx_lm

    try:
        loaded: Any = mlx_lm.load(name, return_config=True)
    except (
        OSError
    ) as error:  # files missing, or a hub that can't be reached: its own errors are OSErrors, too
        raise ValueError(f"can't load the model {name!r}: {' '.join(str(error).split())}") from error
    model, tokenizer, config = loaded
    if chat_template is not None:
        with_template(tokenizer, chat_template)
    folder = Path(name)
    model_id = str(folder.resolve()) if folder.is_dir() else name
    return LabModel(folder.name, model, tokenizer, config, model_id=model_id)

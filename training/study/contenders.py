"""The trained models of a study, in a folder with the names `METHOD-sSEED`."""

import hashlib
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from service.errors import NotFoundError, UsageError
from service.policy.bundled.model import Model, load_model
from training.study.plan import PROPOSED, in_order
from training.vocabulary import MAX_ANSWERS, WORDS

_NAME = re.compile(r"([a-z][a-z0-9_]*)-s(\d{1,6})")
_HASHED = ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A trained model.

    Attributes:
        seed: of its training.
        folder: of the model.
        m: answers per chain.
        digest: identifies the model by its content.
    """

    method: str
    seed: int
    folder: Path
    m: int
    digest: str

    @property
    def name(self) -> str:
        """As its folder is called."""
        return f"{self.method}-s{self.seed}"


def find_contenders(folder: Path) -> tuple[Contender, ...]:
    """All models in a folder, methods in the order of the tables, each with its seeds in order.

    Raises:
        NotFoundError: the folder does not exist, or holds no model.
        UsageError: a model cannot be used, or is not a maze policy. The text names it.
    """
    if not folder.is_dir():
        raise NotFoundError(f"there is no folder {folder}: name one that holds trained models")
    named = {place: found for place in folder.iterdir() if (found := _NAME.fullmatch(place.name))}
    places = {place: inner for place in named if (inner := _model_in(place, named[place][1])) is not None}
    if not places:
        raise NotFoundError(
            f"{folder} holds no model: a study wants folders such as vpo-s0, METHOD-sSEED, as `evolve train maze -o`"
            " writes them"
        )
    contenders = [_contender(named[place][1], int(named[place][2]), inner) for place, inner in places.items()]
    order = in_order([contender.method for contender in contenders])
    return tuple(sorted(contenders, key=lambda contender: (order.index(contender.method), contender.seed)))


@lru_cache(maxsize=2)
def open_model(contender: Contender) -> Model:
    """The model of a contender, ready to write.

    Raises:
        UsageError: it cannot be used, or its words are not those of mazes.
    """
    model = load_model(contender.folder)
    if model.vocabulary.words != WORDS:
        raise UsageError(
            f"the vocabulary of {contender.folder} is not that of mazes: compare models that `evolve train maze` made"
        )
    return model


def choose(contenders: Sequence[Contender], methods: Sequence[str]) -> tuple[Contender, ...]:
    """Those of some methods."""
    return tuple(contender for contender in contenders if contender.method in methods)


def _model_in(place: Path, method: str) -> Path | None:
    """The model folder itself, or the output of training in it."""
    return next((folder for folder in (place, place / method) if (folder / "config.json").is_file()), None)


def _contender(method: str, seed: int, folder: Path) -> Contender:
    content = hashlib.sha256()
    try:
        for name in _HASHED:
            content.update((folder / name).read_bytes())
    except FileNotFoundError as error:
        raise UsageError(f"the model folder {folder} cannot be used: {Path(error.filename).name} is missing") from error
    contender = Contender(method=method, seed=seed, folder=folder, m=_answers(folder), digest=content.hexdigest()[:16])
    open_model(contender)
    return contender


def _answers(folder: Path) -> int:
    """m, as the folder's own defaults say."""
    path = folder / "evolve.toml"
    try:
        m = tomllib.loads(path.read_text(encoding="utf-8")).get("answers")
    except FileNotFoundError as error:
        raise UsageError(f"the model folder {folder} cannot be used: evolve.toml is missing") from error
    except ValueError as error:
        raise UsageError(f"the file {path} cannot be read: {error}") from error
    if type(m) is not int or not 1 <= m <= MAX_ANSWERS or PROPOSED % m:
        raise UsageError(f"the file {path} must say how many answers a chain has: answers = 1, 2, 4 or 8")
    return m

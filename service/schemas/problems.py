"""Problems on the wire."""

import base64
import binascii
from typing import Annotated

from pydantic import AfterValidator, Field

from service.schemas.types import NO_OTHERS, Count, Moment, Name, Object, Page, Reply, Request, Text

MOST_FILES = 10_000


def _base64(text: str) -> str:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("must be base64, padded, without line ends") from error
    return text


Base64 = Annotated[
    str, Field(pattern=r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"), AfterValidator(_base64)
]
Path = Annotated[str, Field(min_length=1, max_length=1000, pattern=r"^[^\x00]+$")]


class ProblemCreate(Request):
    """A problem's folder: `problem.toml` or an OpenEvolve project, with everything that lies beside it."""

    name: Name | None = Field(default=None, description="What it is called; null: as its files say")
    files: dict[Path, Text] = Field(
        min_length=1,
        max_length=MOST_FILES,
        description="Content of text files by path, relative to the folder",
        json_schema_extra=NO_OTHERS,
    )
    binary_files: dict[Path, Base64] = Field(
        default={},
        max_length=MOST_FILES,
        description="Content of other files, base64, by path",
        json_schema_extra=NO_OTHERS,
    )
    executable: list[Path] = Field(default=[], max_length=MOST_FILES, description="Paths of files that may be run")

    def contents(self) -> dict[str, bytes]:
        """Every file's content by path."""
        texts = {path: text.encode() for path, text in self.files.items()}
        return texts | {path: base64.b64decode(text) for path, text in self.binary_files.items()}


class Problem(Reply):
    """A version of a problem."""

    id: str
    name: str
    version: Count
    bundle_hash: str
    document: Object = Field(
        description="What its files say: description, language, seeds, objectives, measures, limits, integrity, search"
    )
    warnings: list[str]
    created_at: Moment


class ProblemPage(Page):
    """Versions of problems, newest first."""

    items: list[Problem]


class SeedScore(Reply):
    """How a seed was scored."""

    seed: str
    outcome: str
    reason: str
    scores: dict[str, float]
    measures: dict[str, float]
    feedback: str
    answer: str | None = Field(default=None, description="Null: it gives none that can be compared")
    seconds: float


class ProblemCheck(Reply):
    """What a check found: a problem can be searched on when there are no complaints."""

    name: str
    ok: bool
    complaints: list[str]
    warnings: list[str]
    document: Object
    seeds: list[SeedScore]

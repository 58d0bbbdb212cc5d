"""Problems on the wire."""

import base64
import binascii
from typing import Annotated

from pydantic import AfterValidator, Field

from service.schemas.problem_documents import ShownDocument
from service.schemas.types import NO_OTHERS, Count, Moment, Name, Page, Reply, Request, Text

MAX_FILES = 10_000


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
    """A problem's folder: `problem.toml` or an OpenEvolve project, with all files beside it."""

    name: Name | None = Field(default=None, description="Its name. Null: the name in its files")
    files: dict[Path, Text] = Field(
        min_length=1,
        max_length=MAX_FILES,
        description="Content of text files by path, relative to the folder",
        json_schema_extra=NO_OTHERS,
    )
    binary_files: dict[Path, Base64] = Field(
        default={},
        max_length=MAX_FILES,
        description="Content of other files, base64, by path",
        json_schema_extra=NO_OTHERS,
    )
    executable: list[Path] = Field(default=[], max_length=MAX_FILES, description="Paths of files that may be run")

    def contents(self) -> dict[str, bytes]:
        """Every file's content by path."""
        texts = {path: text.encode() for path, text in self.files.items()}
        return texts | {path: base64.b64decode(text) for path, text in self.binary_files.items()}


class Problem(Reply):
    """A version of a problem."""

    id: str = Field(description="Id of the version of the problem")
    name: str = Field(description="Name of the problem")
    version: Count = Field(description="Version under this name, from 1")
    bundle_hash: str = Field(description="SHA-256 of the problem's folder")
    document: ShownDocument = Field(description="Content of its files")
    warnings: list[str] = Field(description="Warnings about its files, a sentence each")
    created_at: Moment = Field(description="When it was created")


class ProblemPage(Page):
    """Versions of problems, newest first."""

    items: list[Problem] = Field(description="Versions of problems, newest first")


class SeedScore(Reply):
    """How a seed was scored."""

    seed: str = Field(description="File name of the seed")
    outcome: str = Field(description="Outcome of the evaluation, such as `ok` or `timeout`")
    reason: str = Field(description="Why it failed, in one sentence. Empty: `ok`")
    scores: dict[str, float] = Field(description="Score by objective or metric")
    measures: dict[str, float] = Field(description="Value by measure")
    feedback: str = Field(description="Text of the evaluator for the policy")
    answer: str | None = Field(default=None, description="Null: it gives none that can be compared")
    seconds: float = Field(description="Duration in seconds")
    fitness: float | None = Field(default=None, description="Null: it failed")
    printed: dict[str, str] = Field(
        default={}, description="End of the printed text: of `program`, `evaluator`, or with shared integrity `both`"
    )
    artifacts: dict[str, str] = Field(default={}, description="Artifacts of the evaluator, by name. Also in `feedback`")
    feedback_without_artifacts: str = Field(
        default="", description="`feedback` without the artifacts. Empty: the seed failed"
    )
    imports: dict[str, float] = Field(
        default={}, description="Seconds that importing took, by module, of those that took long"
    )


class ProblemCheck(Reply):
    """The result of a check. Without complaints, runs can use the problem."""

    name: str = Field(description="Name of the problem")
    ok: bool = Field(description="Whether it can be searched on")
    complaints: list[str] = Field(description="Reasons why runs cannot use it, in a sentence each")
    warnings: list[str] = Field(description="Warnings about its files, a sentence each")
    document: ShownDocument = Field(description="Content of its files. Empty: they cannot be read")
    seeds: list[SeedScore] = Field(description="Score of each seed. Empty: not run")
    errors: list[str] = Field(default=[], description="Error that the evaluator reports for a seed that it also scores")
    advice: list[str] = Field(default=[], description="Hints for faster evaluations, in a sentence each")

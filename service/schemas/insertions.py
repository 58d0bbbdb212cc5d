"""Programs that people insert into runs, on the wire."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from evolve.change_events import MAX_INSERTED_FILES
from evolve.configuration.run import MAX_ISLANDS
from service.schemas.types import ProgramText, Request, integral

MAX_PATH_CHARACTERS = 500


class CandidateInsert(Request):
    """A program that a user wrote, as a candidate of a run."""

    files: dict[
        Annotated[str, Field(min_length=1, max_length=MAX_PATH_CHARACTERS, pattern=r"^[^\x00]+$")],
        ProgramText,
    ] = Field(
        default={},
        max_length=MAX_INSERTED_FILES,
        description="Text by path. Other files stay as in the parent. If that is one file, any path means it",
        examples=[{"solution.py": "def solve():\n    return 1\n"}],
        json_schema_extra={"additionalProperties": False},
    )
    removed: list[Annotated[str, Field(min_length=1, max_length=MAX_PATH_CHARACTERS, pattern=r"^[^\x00]+$")]] = Field(
        default=[],
        max_length=MAX_INSERTED_FILES,
        description="Paths of files that the program does not have. Only programs over a git repository lose files",
        examples=[["library/unused.py"]],
    )
    parent: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{0,100}$")] = Field(
        default="", description="Id or name of the candidate that it descends from. Empty: the first seed"
    )
    island: Annotated[int, Field(strict=True, ge=0, le=MAX_ISLANDS), BeforeValidator(integral)] | None = Field(
        default=None, description="Number of its island, from 0. Null: that of the parent"
    )

"""The table `[repository]` of `problem.toml`."""

from pydantic import BaseModel, ConfigDict, Field

from evolve.errors import ProblemError
from evolve.problem_formats import FILE
from evolve.repository import MAX_PATTERNS, check_pattern
from service.errors import UsageError
from service.problems.command.words import CommandWords, read_command


class RepositoryTable(BaseModel):
    """What a problem says of its repository."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    path: str = Field(min_length=1)
    commit: str = "HEAD"
    mutable: list[str] = Field(min_length=1, max_length=MAX_PATTERNS)
    immutable: list[str] = Field(default=[], max_length=MAX_PATTERNS)
    exclude: list[str] = Field(default=[], max_length=MAX_PATTERNS)
    show: list[str] = Field(default=[], max_length=MAX_PATTERNS)
    setup: str = ""
    evaluate: str = Field(min_length=1)

    def complaints(self) -> list[str]:
        """A sentence for each value that cannot be used."""
        found = []
        for pattern in (*self.mutable, *self.immutable, *self.exclude, *self.show):
            try:
                check_pattern(pattern)
            except ProblemError as error:
                found.append(f"{FILE}: {error}")
        for name, text in (("setup", self.setup), ("evaluate", self.evaluate)):
            try:
                words_of(text)
            except UsageError as error:
                found.append(f"{FILE}: repository.{name}: {error}")
        return found


def words_of(text: str) -> CommandWords | None:
    """The words of a command of the table. None: it is empty.

    Raises:
        UsageError: they cannot be read.
    """
    return read_command(text) if text.strip() else None

"""The files of two programs that are compared: of a repository's programs, as they lie over their commit."""

from collections.abc import Callable

from evolve.program import Program
from evolve.repository import Repository, base_commit
from service.projections.diff import Files


def sides_of(
    before: Program | None, after: Program, repository: Callable[[], Repository | None]
) -> tuple[Files, Files]:
    """The files in which two programs may differ, as each has them.

    Args:
        before: None: nothing; of a program of a repository, its commit.
        after: the later program.
        repository: of their problem; it is only asked for programs of one.
    """
    if base_commit(dict(after.files)) and (base := repository()) is not None:
        return base.sides(before or base.seed(), after)
    return () if before is None else before.files, after.files

"""The form of an answer that is not written but left: the files of a folder that an agent edits."""

from collections.abc import Mapping

from evolve.program import Program
from evolve.prompt.templates import fill
from evolve.prompt.text import one_line
from evolve.repository import Repository

WORKTREE = "worktree"
LIES_THERE = "It lies in the folder.\n"
_MAX_NAMED = 40
_ADDED = "You may add text files. Files are not removed."


def worktree_text(
    parent: Program,
    answers: int,
    *,
    bounded: bool,
    templates: Mapping[str, str],
    repository: Repository | None = None,
) -> str:
    """What the prompt says about the folder that an agent edits.

    Args:
        parent: whose files lie there.
        answers: copies of it.
        bounded: whether markers say what may change.
        templates: texts in place of the built-in ones.
        repository: that the parent changes; None: the parent is whole by itself.
    """
    paths = [path for path, _ in parent.files]
    if repository is not None:
        paths = [path for path in repository.paths(parent) if repository.may_change(path)]
    names = [f"`{one_line(path)}`" for path in paths]
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    one = answers == 1
    return fill(
        templates,
        WORKTREE,
        place=fill(templates, "worktree_one") if one else fill(templates, "worktree_copies", count=answers),
        files=", ".join(names[:_MAX_NAMED]) + more,
        added=_added(parent, repository),
        regions=fill(templates, "regions") if bounded else "",
    )


def _added(parent: Program, repository: Repository | None) -> str:
    if repository is None:
        return "Other files do not count. Files are not removed." if parent.single else _ADDED
    patterns = ", ".join(f"`{one_line(pattern)}`" for pattern in repository.mutable)
    fixed = ", ".join(f"`{one_line(pattern)}`" for pattern in repository.immutable)
    but = f", but for {fixed}" if fixed else ""
    return f"You may add, change and remove text files that match {patterns}{but}. Other changes do not count."

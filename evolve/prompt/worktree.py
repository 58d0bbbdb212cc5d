"""The form of an answer that is not written but left: the files of a folder that an agent edits."""

from collections.abc import Mapping

from evolve.program import Program
from evolve.prompt.templates import fill
from evolve.prompt.text import one_line

WORKTREE = "worktree"
LIES_THERE = "It lies in the folder.\n"
_MAX_NAMED = 40
_ADDED = "You may add text files."


def worktree_text(parent: Program, answers: int, *, bounded: bool, templates: Mapping[str, str]) -> str:
    """What the prompt says about the folder that an agent edits.

    Args:
        parent: whose files lie there.
        answers: copies of it.
        bounded: whether markers say what may change.
        templates: texts in place of the built-in ones.
    """
    names = [f"`{one_line(path)}`" for path, _ in parent.files]
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    one = answers == 1
    return fill(
        templates,
        WORKTREE,
        place=fill(templates, "worktree_one") if one else fill(templates, "worktree_copies", count=answers),
        files=", ".join(names[:_MAX_NAMED]) + more,
        added="Other files do not count." if parent.single else _ADDED,
        regions=fill(templates, "regions") if bounded else "",
    )

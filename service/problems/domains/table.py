"""The table `[domain]`: which question of which domain a problem is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service.errors import InvalidProblemError
from service.problems.suggestion import hint

NAMES = ("maze", "musique", "eureqa", "toolrl", "livecodebench")
KEYS = ("name", "file", "number", "kind", "split")
FIXED = ("kind", "split", "number")
_PLACE = "problem.toml: domain"


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainQuestion:
    """A question, by name.

    Attributes:
        name: of the domain.
        file: with the question. Empty: a maze that is fixed by kind, split and number.
        number: of the question in the file, from 0. None: the file holds only this question.
    """

    name: str
    file: str = ""
    number: int | None = None
    kind: str = ""
    split: str = ""

    @property
    def title(self) -> str:
        """A name for a problem that has none."""
        place = self.file.rpartition("/")[2].partition(".")[0] if self.file else f"{self.kind}-{self.split}"
        return "-".join([self.name, place, *([] if self.number is None else [str(self.number)])])


def read_table(table: object) -> DomainQuestion:
    """Read the table.

    Raises:
        InvalidProblemError: with every complaint about it.
    """
    if not isinstance(table, Mapping):
        raise InvalidProblemError([f"{_PLACE} should be a table: write [domain], and name = ... below it"])
    complaints = [f"{_PLACE}: unknown key {key!r}{hint(key, KEYS)}" for key in table if key not in KEYS]
    complaints += [
        f"{_PLACE}.{key} should be a text, not {_shown(table[key])}"
        for key in ("name", "file", "kind", "split")
        if key in table and not isinstance(table[key], str)
    ]
    complaints += _complain_of_number(table.get("number"))
    complaints += [] if complaints else _complain(table)
    if complaints:
        raise InvalidProblemError(complaints)
    return DomainQuestion(**table)


def _complain_of_number(number: object) -> list[str]:
    if number is None or (isinstance(number, int) and not isinstance(number, bool) and number >= 0):
        return []
    return [f"{_PLACE}.number should be an integer of at least 0, not {_shown(number)}"]


def _complain(table: Mapping[str, Any]) -> list[str]:
    name = table.get("name", "")
    if name not in NAMES:
        own = (
            "" if ":" not in name else f", or write a question of your own with evolve problem init DIR --domain {name}"
        )
        return [f"{_PLACE}.name {_shown(name)} is not a domain: choose {', '.join(NAMES)}{own}"]
    fixed = [key for key in ("kind", "split") if table.get(key)]
    if fixed and (name != "maze" or table.get("file")):
        return [f"{_PLACE}: {fixed[0]} is for mazes without a file: leave it out"]
    if name == "maze" and table.get("file") and "number" in table:
        return [f"{_PLACE}: a file holds a single maze: leave number out"]
    if name == "maze" and not table.get("file") and not all(key in table for key in FIXED):
        return [f'{_PLACE}: name a maze with file = "maze.txt", or with kind, split and number']
    if name != "maze" and not table.get("file"):
        return [f'{_PLACE}: name the file that holds the question, such as file = "question.json"']
    return []


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

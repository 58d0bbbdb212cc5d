"""A family of problems, from which rounds of a search take as many as they want."""

import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evolve.problem_formats import FILE
from service.errors import NotFoundError, UsageError
from service.problems.toml_writer import toml_text


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemFamily:
    """The questions of a domain by number, or the problems in a folder, which repeat after the last.

    Attributes:
        folder: of the problem, or of the problems.
        members: folders of the problems. Empty: the questions are numbered.
        first: number of the first question.
        document: `problem.toml` of the numbered problem.
    """

    folder: Path
    members: Sequence[Path] = ()
    first: int = 0
    document: Mapping[str, Any] = field(default_factory=dict)

    def write(self, place: int, folder: Path) -> Path:
        """The folder of the problem at a place, from 0. A numbered problem is written below `folder`."""
        if self.members:
            return self.members[place % len(self.members)]
        number = self.first + place
        name = f"{self.document.get('name', self.folder.name)}-{number}"
        target = folder / name
        shutil.copytree(self.folder, target, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        domain = {**self.document["domain"], "number": number}
        (target / FILE).write_text(toml_text({**self.document, "name": name, "domain": domain}), encoding="utf-8")
        return target


def read_family(folder: Path) -> ProblemFamily:
    """The family that a folder is.

    Raises:
        NotFoundError: there is no such folder.
        UsageError: it is neither a question that has a number, nor a folder of problems.
    """
    if not folder.is_dir():
        raise NotFoundError(f"there is no folder {folder}: name a problem with a [domain], or a folder of problems")
    if not (folder / FILE).is_file():
        members = sorted(path for path in folder.iterdir() if (path / FILE).is_file())
        if not members:
            raise UsageError(f"{folder} holds no problem: name a problem with a [domain], or a folder of problems")
        return ProblemFamily(folder=folder, members=members)
    try:
        document = tomllib.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder / FILE} cannot be read: {error}") from error
    domain = document.get("domain")
    if not isinstance(domain, Mapping) or type(domain.get("number")) is not int:
        raise UsageError(
            f"{folder} is a single problem: name one whose [domain] has a number, or a folder that holds several"
        )
    return ProblemFamily(folder=folder, first=domain["number"], document=document)


def read_held_out(folder: Path) -> Sequence[Path]:
    """The folders of problems in a folder, in order of their names.

    Raises:
        NotFoundError: there is no such folder.
        UsageError: it holds no problem.
    """
    family = read_family(folder)
    if not family.members:
        raise UsageError(f"{folder} is a single problem: name a folder that holds the held-out problems")
    return family.members

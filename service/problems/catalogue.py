"""The catalogue: problems that papers report on, shipped with Evolve, each with a strict scorer."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from service.errors import NotFoundError
from service.problems.init import write_problem
from service.problems.outside_modules import FOLDER as MODULES

_INDEX, _SHARED, _SEED = "catalogue.toml", "shared", "initial_program.py"
_README = """\
# {title}

{description}

| | |
|---|---|
| objective | {objective}, {direction} |
| best known | {known} |
| source | {source} |
| how sure | {status}, as of {as_of} |

**Trap.** {trap}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueProblem:
    """A problem of the catalogue.

    Attributes:
        family: the group of problems that it belongs to.
        known_best: score; None: there is none.
        status: how sure it is: `proven`, `verified`, `reported`, `bound` or `reference`.
        as_of: month in which its source was last looked at.
        trap: a mistake of earlier scorers, which this one does not make.
        verified_twice: whether the problem has a second, independent verifier.
        modules: files that its evaluator shares with its family.
        seed: the file that ends its seed program, and those of its family; empty: none.
    """

    name: str
    family: str
    title: str
    description: str
    objective: str
    direction: str
    known_best: float | None
    known_best_source: str
    status: str
    as_of: str
    trap: str
    verified_twice: bool
    modules: tuple[str, ...]
    seed: str


@cache
def catalogue() -> tuple[CatalogueProblem, ...]:
    """All problems of the catalogue, relatives beside each other."""
    index = tomllib.loads((_place() / _INDEX).read_text(encoding="utf-8"))
    return tuple(_read(name, entry) for name, entry in index.items())


def find_problem(name: str) -> CatalogueProblem:
    """A problem by its name.

    Raises:
        NotFoundError: the catalogue has no such problem.
    """
    for problem in catalogue():
        if problem.name == name:
            return problem
    raise NotFoundError(f"the catalogue has no problem {name[:100]!r}: see evolve problems")


def init_from_catalogue(folder: Path, name: str) -> tuple[Path, ...]:
    """Write a problem of the catalogue into a missing or empty folder. Returns the written files.

    Raises:
        NotFoundError: the catalogue has no such problem.
        ConflictError: the folder is not empty, is a file, or cannot be written.
    """
    return write_problem(folder, problem_texts(find_problem(name)))


def problem_texts(problem: CatalogueProblem) -> Mapping[str, str]:
    """The files of a problem, by path."""
    own = sorted(path for path in (_place() / problem.name).iterdir() if path.is_file())
    texts = {path.name: path.read_text(encoding="utf-8") for path in own}
    for module in problem.modules:
        texts[f"{MODULES}/{module}.py"] = _shared(module)
    if problem.seed:
        texts[_SEED] += f"\n\n{_shared(problem.seed)}"
    return {**texts, "README.md": readme_of(problem)}


def _shared(name: str) -> str:
    return (_place() / _SHARED / f"{name}.py").read_text(encoding="utf-8")


def readme_of(problem: CatalogueProblem) -> str:
    """The facts about a problem, for people."""
    return _README.format(
        title=problem.title,
        description=problem.description,
        objective=problem.objective,
        direction=problem.direction,
        known="none" if problem.known_best is None else repr(problem.known_best),
        source=problem.known_best_source or "none",
        status=problem.status,
        as_of=problem.as_of,
        trap=problem.trap,
    )


def _place() -> Path:
    """Where the catalogue lies: at the top of the repository, or inside of what was installed."""
    here = Path(__file__).resolve().parent
    top = here.parents[1]
    return top / "catalogue" if (top / "pyproject.toml").is_file() else here / "catalogue_problems"


def _read(name: str, entry: Mapping[str, Any]) -> CatalogueProblem:
    document = tomllib.loads((_place() / name / "problem.toml").read_text(encoding="utf-8"))
    (objective,) = document["objectives"]
    return CatalogueProblem(
        name=name,
        family=entry["family"],
        title=entry["title"],
        description=document["description"].strip(),
        objective=objective["name"],
        direction=objective["direction"],
        known_best=document.get("known_best"),
        known_best_source=document.get("known_best_source", ""),
        status=entry["status"],
        as_of=entry["as_of"],
        trap=entry["trap"],
        verified_twice="verifier" in document["evaluator"],
        modules=tuple(entry["modules"]),
        seed=entry.get("seed", ""),
    )

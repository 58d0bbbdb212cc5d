"""Programs that a run of somebody starts from, with their lineage: chosen, and kept as files of the problem."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evolve.errors import ProgramError
from evolve.evaluation import COMBINED
from evolve.problem import Objective, SeedOrigin
from evolve.program import Program
from evolve.similarity.fingerprint import fingerprint
from service.problems.documents import storable
from service.problems.folder import Folder

FOLDER = "evolve_seeds"
FILE = f"{FOLDER}/population.json"
DEFAULT_PROGRAMS = 20
MAX_PROGRAMS = 1000
_MAX_METRICS, _MAX_NAME = 20, 100
_FORM = f"{FILE} is not a population of evolve run --seeds-from: remove the folder {FOLDER}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierProgram:
    """A program of an earlier run.

    Attributes:
        name: unique in its run.
        files: text by path; a program of one file has the empty path.
        parents: names of those that it was made from, the first of them the main one.
        generation: None: its run did not say.
        metrics: of its run, for people; they decide which programs come along, and nothing else.
        valid: whether its run took it for valid.
    """

    name: str
    files: Mapping[str, str] = field(repr=False)
    parents: Sequence[str] = ()
    generation: int | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    valid: bool = True

    def worth(self, objectives: Sequence[Objective]) -> float:
        """By what the best are chosen: the problem's first objective, else the combined score, else the mean."""
        for objective in objectives[:1]:
            if objective.name in self.metrics:
                return objective.signed(self.metrics[objective.name])
        numbers = list(self.metrics.values())
        return self.metrics.get(COMBINED, sum(numbers) / len(numbers) if numbers else float("-inf"))


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRun:
    """Programs of an earlier run.

    Attributes:
        source: what it was, for people.
        programs: each once.
        total: how many the run had.
        unscored: how many have no score by which they were chosen before others.
    """

    source: str
    programs: Sequence[EarlierProgram]
    total: int
    unscored: int = 0

    def best(self, count: int, objectives: Sequence[Objective] = ()) -> "EarlierRun":
        """The best distinct programs, ancestors before descendants.

        The parents of one are its nearest ancestors among them.
        """
        first: dict[str, EarlierProgram] = {}
        same: dict[str, str] = {}
        for one in self.programs:
            known = first.setdefault(json.dumps(sorted(one.files.items())), one)
            same[one.name] = known.name
        order = {one.name: place for place, one in enumerate(first.values())}
        valid = [one for one in first.values() if one.valid] or list(first.values())
        chosen = sorted(valid, key=lambda one: (-one.worth(objectives), order[one.name]))[: min(count, MAX_PROGRAMS)]
        unscored = sum(not one.metrics for one in chosen) if len(chosen) < len(valid) else 0
        chosen.sort(key=lambda one: (one.generation if one.generation is not None else 0, order[one.name]))
        lines = {one.name: [same.get(parent, parent) for parent in one.parents] for one in first.values()}
        taken: list[EarlierProgram] = []
        for one in chosen:
            earlier = {other.name for other in taken}
            near = dict.fromkeys(found for name in lines[one.name] if (found := _nearest(name, lines, earlier)))
            taken.append(replace(one, parents=tuple(near)))
        return replace(self, programs=taken, unscored=unscored)

    def as_files(self) -> dict[str, bytes]:
        """The files of a problem that holds it."""
        files: dict[str, bytes] = {}
        entries = []
        for number, one in enumerate(self.programs, 1):
            place = f"{number:04}"
            texts = {path or "program": text for path, text in one.files.items()}
            files |= {f"{FOLDER}/{place}/{path}": text.encode() for path, text in texts.items()}
            entries.append(
                {
                    "name": one.name,
                    "folder": place,
                    "single": "" in one.files,
                    "parents": list(one.parents),
                    "generation": one.generation,
                    "metrics": dict(one.metrics),
                }
            )
        document = {"source": self.source, "total": self.total, "programs": entries}
        files[FILE] = (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()
        return files

    def __str__(self) -> str:
        """As a command names it."""
        return f"{len(self.programs)} of the {self.total} programs of {self.source}"


def join_populations(populations: Sequence[EarlierRun]) -> EarlierRun:
    """The programs of several earlier runs as those of one.

    Names that an earlier population has too get the number of their population in front.
    """
    programs: list[EarlierProgram] = []
    taken: set[str] = set()
    for number, population in enumerate(populations, 1):
        front = f"{number}/" if taken & {one.name for one in population.programs} else ""
        programs += [
            replace(one, name=front + one.name, parents=tuple(front + parent for parent in one.parents))
            for one in population.programs
        ]
        taken.update(one.name for one in programs)
    return EarlierRun(
        source=" and ".join(population.source for population in populations),
        programs=programs,
        total=sum(population.total for population in populations),
    )


def population_files(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Those files of a problem that hold the programs of an earlier run; none: its run had no `--seeds-from`."""
    return {path: content for path, content in files.items() if path.startswith(f"{FOLDER}/") and FILE in files}


def numbers_of(metrics: Mapping[Any, Any]) -> dict[str, float]:
    """The finite numbers among the metrics of an earlier run, the first of them."""
    found: dict[str, float] = {}
    for key, value in metrics.items():
        sound = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1e100
        if sound and storable(str(key)) and len(found) < _MAX_METRICS:
            found[str(key)[:_MAX_NAME]] = float(value)
    return found


def read_population(
    folder: Folder, own: Sequence[Program], language: str, complaints: list[str]
) -> tuple[tuple[Program, ...], Mapping[int, SeedOrigin]]:
    """The seeds of a problem with those of its population, and by their places what is known of these.

    Args:
        folder: of the problem.
        own: its own seeds, which come first.
        language: of all of them; of programs that are the same but for comments, the first counts.
        complaints: receives what is wrong with the population.
    """
    programs = list(own)
    places = {fingerprint(program, language): place for place, program in reversed(list(enumerate(own)))}
    origins: dict[int, SeedOrigin] = {}
    names: dict[str, int] = {}
    try:
        entries = json.loads(folder.files[FILE])["programs"] if FILE in folder.files else []
        for entry in entries[:MAX_PROGRAMS]:
            program = _program(folder, entry, own)
            place = places.setdefault(fingerprint(program, language), len(programs))
            names.setdefault(str(entry["name"]), place)
            if place < len(programs):
                continue  # it is among them
            programs.append(program)
            parents = dict.fromkeys(names[name] for name in entry["parents"] if name in names)
            origins[place] = SeedOrigin(
                name=str(entry["name"])[:_MAX_NAME],
                parents=tuple(parent for parent in parents if parent < place),
                generation=None if entry["generation"] is None else int(entry["generation"]),
                metrics=numbers_of(entry["metrics"]),
            )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        complaints.append(_FORM)
    except ProgramError as error:
        complaints.append(f"a program in {FOLDER} is not one: {error}")
    return tuple(programs), origins


def _program(folder: Folder, entry: Mapping[str, Any], own: Sequence[Program]) -> Program:
    files = {path: content.decode() for path, content in folder.below(f"{FOLDER}/{entry['folder']}").items()}
    if entry["single"]:
        (text,) = files.values()
        name = own[0].files[0][0] if own and own[0].single else "program.py"
        return Program.of({name: text})
    return Program.of(files)


def _nearest(name: str, lines: Mapping[str, Sequence[str]], wanted: Iterable[str]) -> str:
    """The nearest of the wanted programs on the lines of parents from one on, itself first; empty: there is none."""
    targets, seen, waiting = set(wanted), {name}, [name]
    while waiting:
        here = waiting.pop(0)
        if here in targets:
            return here
        fresh = [parent for parent in lines.get(here, ()) if parent not in seen]
        seen.update(fresh)
        waiting += fresh
    return ""

"""A folder with a table `[domain]`, expanded to an ordinary problem."""

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from evolve.domains.domain import Domain
from evolve.domains.livecodebench import LiveCodeBench
from evolve.domains.maze.domain import MazeDomain
from evolve.domains.maze.grid import Maze, read
from evolve.domains.maze.oracle import optimum
from evolve.domains.maze.splits import maze_of
from evolve.domains.musique import ANSWER_WEIGHT
from evolve.domains.questions import TEXT_DOMAINS, question_as_json
from evolve.errors import ProblemError
from evolve.problem import BUILT_IN_MEASURES, Limits
from evolve.problem_formats import FILE
from service.errors import InvalidProblemError
from service.problems.documents import DocumentError, read_document, storable
from service.problems.domains.published import read_question
from service.problems.domains.rows import read_row
from service.problems.domains.table import DomainQuestion, read_table
from service.problems.domains.texts import RUNNER, SCORING, TEST_SECONDS, evaluator_text, form_of_answer, seed_of
from service.problems.folder import Folder
from service.problems.toml_writer import toml_text

EVALUATOR, QUESTION = "evaluator.py", "question.json"
MAX_CHARACTERS = 100_000
# Time and memory of the exact search grow with the product of these; a `hard` maze has 25 million, in 15 ms.
MAX_STATES = 500_000_000
_SETTLED = ("description", "language", "main", "evaluator", "objectives")


@dataclass(frozen=True, slots=True, kw_only=True)
class _AskedQuestion:
    domain: Domain[Any, Any]
    question: Any


def written_out(folder: Folder) -> Folder:
    """A problem's folder with its `[domain]` replaced by evaluator, question, objectives, description and seed.

    A folder without that table stays unchanged, and so does a folder with an unreadable document. The data file of a
    numbered question is left out.

    Raises:
        InvalidProblemError: the table, the question, or the files beside them are invalid.
    """
    try:
        document = read_document(FILE, folder.files[FILE])
    except DocumentError:
        return folder
    if "domain" not in document:
        return folder
    wanted = read_table(document.pop("domain"))
    if complaints := [*_contradictions(document), *_collisions(folder, wanted)]:
        raise InvalidProblemError(complaints)
    asked = _AskedQuestion(domain=_domain(wanted.name), question=_question(wanted, folder))
    files = {path: content for path, content in folder.files.items() if path != wanted.file}
    files[EVALUATOR] = evaluator_text(wanted.name).encode()
    files[QUESTION] = json.dumps(question_as_json(asked.question), indent=1).encode()
    if "seeds" not in document:
        path, text = seed_of(asked.question)
        document["seeds"] = [path]
        files.setdefault(path, text.encode())
    text = f"# Written out by Evolve from [domain], {wanted.title}.\n{toml_text(_filled(document, wanted, asked))}"
    files[FILE] = text.encode()
    return replace(folder, files=dict(sorted(files.items())))


def _contradictions(document: Mapping[str, Any]) -> Iterator[str]:
    for key in _SETTLED:
        if key in document:
            yield f"{FILE}: {key} comes from [domain]: leave it out, or leave [domain] out and write the whole problem"
    measures = document.get("measures", [])
    for measure in measures if isinstance(measures, list) else []:
        name = measure.get("name") if isinstance(measure, Mapping) else None
        if isinstance(name, str) and name not in BUILT_IN_MEASURES:
            yield f"{FILE}: a domain measures no {name!r}: choose {' or '.join(BUILT_IN_MEASURES)}"


def _collisions(folder: Folder, wanted: DomainQuestion) -> Iterator[str]:
    for path in (EVALUATOR, QUESTION):
        if path in folder.files and path != wanted.file:
            yield f"{path} would be overwritten by [domain]: rename or remove it"


def _domain(name: str) -> Domain[Any, Any]:
    return TEXT_DOMAINS[name] if name in TEXT_DOMAINS else LiveCodeBench(judge=lambda *_: ())


def _question(wanted: DomainQuestion, folder: Folder) -> Any:
    try:
        if not wanted.file:
            return maze_of(wanted.kind, wanted.split, wanted.number or 0)
        if wanted.file not in folder.files:
            raise InvalidProblemError(
                [f"{FILE}: domain.file = {wanted.file[:100]!r} is not a file of this problem: put it beside {FILE}"]
            )
        content = folder.files[wanted.file]
        if wanted.name == "maze":
            return read(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InvalidProblemError([f"{wanted.file} is not UTF-8 text: save it as UTF-8"]) from None
    except ProblemError as error:
        raise InvalidProblemError([f"{wanted.file or FILE}: {error}"]) from error
    place = wanted.file if wanted.number is None else f"{wanted.file}, question {wanted.number}"
    return read_question(wanted.name, read_row(wanted.file, io.BytesIO(content), wanted.number), place)


def _filled(document: dict[str, Any], wanted: DomainQuestion, asked: _AskedQuestion) -> dict[str, Any]:
    description = f"{asked.domain.task(asked.question)}\n\n{form_of_answer(asked.question)}"
    if len(description) > MAX_CHARACTERS or not storable(description):
        raise InvalidProblemError(
            [f"the question is longer than {MAX_CHARACTERS} characters, or cannot be stored: take another"]
        )
    python = wanted.name == "livecodebench"
    filled = {"name": wanted.title, **document}
    filled |= {"description": description, "language": "python" if python else "text"}
    filled["evaluator"] = {
        "file": EVALUATOR,
        "preload": [SCORING],
        **(_command(document) if python else {"text": True}),
    }
    filled["objectives"] = list(_objectives(asked))
    if python and isinstance(document.get("limits", {}), Mapping):
        filled["limits"] = _limits(len(asked.question.tests)) | dict(document.get("limits", {}))
    if "known_best" not in document and isinstance(asked.question, Maze):
        filled |= _known_best(asked.question)
    return filled


def _command(document: Mapping[str, Any]) -> dict[str, Any]:
    seeds = document["seeds"]
    first = seeds[0] if isinstance(seeds, list) and seeds and isinstance(seeds[0], str) else ""
    return {"command": ["{python}", "-c", RUNNER, first.rpartition("/")[2]]}


def _objectives(asked: _AskedQuestion) -> Iterator[dict[str, Any]]:
    """Weighted so that the fitness is the domain's own scalar."""
    for name in asked.domain.objectives(asked.question):
        weight = {"weight": ANSWER_WEIGHT} if name == "answer_f1" else {}
        yield {"name": name, "low": 0.0, "high": 1.0, **weight}


def _limits(tests: int) -> dict[str, Any]:
    seconds = float(tests * (TEST_SECONDS + 1) + 10)
    return asdict(Limits(wall_seconds=seconds, cpu_seconds=seconds, output_kb=1024))


def _known_best(maze: Maze) -> dict[str, Any]:
    if maze.height * maze.width * maze.limit << len(maze.items) > MAX_STATES:
        return {}
    count = len(MazeDomain().objectives(maze))
    try:
        return {"known_best": float(optimum(maze, np.full(count, 1 / count))), "known_best_source": "exact search"}
    except ProblemError:  # too much lies in it for an exact search
        return {}

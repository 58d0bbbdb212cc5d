"""Problems described by `problem.toml`."""

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evolve.errors import ProblemError
from evolve.problem import Direction, EvaluatorSpec, Integrity, Limits, Measure, Objective, Problem
from evolve.problem_formats import FILE
from evolve.program import Program
from service.errors import InvalidProblemError
from service.problems.configuration import check_layer
from service.problems.documents import DocumentError, read_document
from service.problems.folder import Folder
from service.problems.population import read_population
from service.problems.reader_result import ReaderResult
from service.problems.repository.base import EVALUATOR as REPOSITORY_EVALUATOR
from service.problems.repository.base import language_in, read_repository, seeds_of
from service.problems.repository.table import RepositoryTable
from service.problems.sources import check_evaluator, language_of, read_seed, stages
from service.problems.suggestion import hint

_PLACE = "[search] of problem.toml"

Value = TypeVar("Value")


class _Table(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, frozen=True)


class _Evaluator(_Table):
    file: str = "evaluator.py"
    integrity: Literal["separate", "shared"] = "separate"
    entry: str = ""
    command: list[str] = []
    build: list[str] = []
    text: bool = False
    runtime: str = ""
    python: str = ""
    image: str = ""
    requirements: list[str] = []
    preload: list[str] = []
    read: list[str] = Field(default=[], max_length=100)
    scorer_read: list[str] = Field(default=[], max_length=100)
    path: list[str] = Field(default=[], max_length=100)
    warmups: int = 0
    repeats: int = 1
    min_repeats: int = 0
    repeats_confidence: float = 0.95
    stage_thresholds: list[dict[str, float]] = []
    holdout: bool = False
    audit: int = 0
    audit_tolerance: float = 0.01
    verifier: str = ""
    lenient: bool = False


class _Limits(_Table):
    wall_seconds: float = 20.0
    cpu_seconds: float = 20.0
    memory_mb: int = 1024
    processes: int = 32
    disk_mb: int = 64
    output_kb: int = 256
    network: bool = False
    gpu: bool = False


class _Objective(_Table):
    name: str = Field(min_length=1)
    direction: Literal["maximize", "minimize"] = "maximize"
    low: float | None = None
    high: float | None = None
    weight: float = 1.0
    target: float | None = None
    reference: float | None = None


class _Measure(_Table):
    name: str = Field(min_length=1)
    bins: int = Field(default=10, le=1000)
    low: float | None = None
    high: float | None = None


class _Document(_Table):
    schema_: Literal[1] = Field(alias="schema")
    name: str = Field(min_length=1)
    description: str = ""
    language: str = ""
    seeds: list[str] = Field(default=[], min_length=1)
    main: str = ""
    known_best: float | None = None
    known_best_source: str = ""
    evaluator: _Evaluator = _Evaluator()
    limits: _Limits = _Limits()
    objectives: list[_Objective] = []
    measures: list[_Measure] = []
    search: dict[str, Any] = {}
    policies: list[dict[str, Any]] = []
    repository: RepositoryTable | None = None


def read_native(folder: Folder) -> ReaderResult:
    """Read a problem from its `problem.toml`.

    Raises:
        InvalidProblemError: with every complaint about the document, the seeds and the evaluator.
    """
    complaints: list[str] = []
    document = _document(folder)
    repository = None
    if document.repository is not None:
        document = _of_repository(document, complaints)
        repository = read_repository(folder, document.repository, complaints) if document.repository else None
        if repository is None:
            raise InvalidProblemError(complaints)
    evaluator = _made(complaints, _evaluator, document.evaluator)
    limits = _made(complaints, lambda table: Limits(**table.model_dump()), document.limits)
    objectives = [_made(complaints, _objective, table) for table in document.objectives]
    measures = [_made(complaints, lambda table: Measure(**table.model_dump()), table) for table in document.measures]
    complaints += check_layer(_PLACE, document.search)
    seeds = [read_seed(folder, path, complaints) for path in document.seeds]
    complaints += _idle(document.evaluator)
    complaints += _own_modules(folder, document.evaluator)
    _check_functions(folder, document.evaluator, complaints)
    main = _main([seed for seed in seeds if seed], document, complaints)
    if complaints or evaluator is None or limits is None:
        raise InvalidProblemError(complaints)
    own = tuple(dict.fromkeys(seed for seed in seeds if seed))
    repeated = len(own) < len(seeds)
    own = seeds_of(repository, own, complaints) if repository else own
    language = document.language or (language_in(repository) if repository else language_of(own[0]))
    programs, origins = read_population(folder, own, language, complaints)
    if repository:
        seeds_of(repository, programs, complaints)
    if complaints:
        raise InvalidProblemError(complaints)
    try:
        problem = Problem(
            name=document.name,
            description=document.description,
            language=language,
            seeds=programs,
            evaluator=evaluator,
            limits=limits,
            objectives=tuple(objective for objective in objectives if objective),
            measures=tuple(measure for measure in measures if measure),
            known_best=document.known_best,
            known_best_source=document.known_best_source,
            main=main,
            origins=origins,
            repository=repository,
        )
    except ProblemError as error:
        raise InvalidProblemError([f"{FILE}: {error}"]) from error
    return ReaderResult(
        problem=problem,
        search=document.search,
        policies=tuple(document.policies),
        warnings=_warnings(repeated),
    )


def _warnings(repeated: bool) -> tuple[str, ...]:
    return (f"{FILE}: equal seeds count once",) if repeated else ()


def _document(folder: Folder) -> _Document:
    try:
        raw = read_document(FILE, folder.files[FILE])
    except DocumentError as error:
        raise InvalidProblemError([str(error)]) from error
    lacking: list[dict[str, Any]] = (
        [] if {"seeds", "repository"} & raw.keys() else [{"type": "missing", "loc": ("seeds",)}]
    )
    try:
        document = _Document.model_validate(raw)
    except ValidationError as error:
        found = [*map(dict, error.errors(include_url=False)), *lacking]
        raise InvalidProblemError([_sentence(item) for item in found]) from error
    if lacking:
        raise InvalidProblemError([_sentence(item) for item in lacking])
    return document


def _of_repository(document: _Document, complaints: list[str]) -> _Document:
    """A document whose programs are changes of a commit, with the evaluator that runs its command."""
    named = document.evaluator.model_fields_set - _BESIDE_REPOSITORY
    if "image" in named:
        complaints.append(f"{FILE}: evaluator.image: programs of a [repository] run without an image: leave it out")
    settled = [f"evaluator.{key}" for key in sorted(named - {"image"})]
    settled += ["main"] if document.main else []
    complaints += [f"{FILE}: {key} comes from [repository]: leave it out" for key in settled]
    evaluator = document.evaluator.model_copy(update={"file": REPOSITORY_EVALUATOR, "integrity": "shared"})
    return document.model_copy(update={"evaluator": evaluator, "main": ""})


def _sentence(error: Mapping[str, Any]) -> str:
    location: tuple[str | int, ...] = error["loc"]
    key = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")
    if error["type"] == "extra_forbidden":
        return f"{FILE}: unknown key {key!r}{hint(key, _known(location, key))}"
    if error["type"] == "missing":
        return f"{FILE}: {key} is missing: add {_EXAMPLES.get(str(location[-1]), str(location[-1]) + ' = ...')}"
    if location == ("schema",):
        return f"{FILE}: schema is {error['input']!r}, and this version reads schema = 1"
    message = str(error["msg"]).removeprefix("Input ").removeprefix("should be ")
    return f"{FILE}: {key} should be {message}, not {_shown(error['input'])}"


_EXAMPLES = {"schema": "schema = 1", "seeds": 'seeds = ["initial_program.py"]', "name": 'name = "my-problem"'}
_TABLES: dict[str, type[BaseModel]] = {
    "evaluator": _Evaluator, "limits": _Limits, "objectives": _Objective, "measures": _Measure,
    "repository": RepositoryTable,
}  # fmt: skip
# Keys of [evaluator] that keep their meaning beside [repository].
_BESIDE_REPOSITORY = frozenset(
    {
        "python",
        "requirements",
        "read",
        "path",
        "warmups",
        "repeats",
        "min_repeats",
        "repeats_confidence",
        "audit",
        "audit_tolerance",
    }
)


def _known(location: Sequence[str | int], key: str) -> list[str]:
    """Keys of the same table, in the same spelling. At the top also those of the tables, for a key in a wrong place."""
    table = _TABLES.get(str(location[0])) if len(location) > 1 else None
    start = key.rpartition(".")[0]
    if table is not None:
        return [f"{start}.{name}" for name in table.model_fields]
    top = [field.alias or name for name, field in _Document.model_fields.items()]
    top.append("domain")
    return top + [
        f"{name}.{inner}" for name in ("evaluator", "limits", "repository") for inner in _TABLES[name].model_fields
    ]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _made(complaints: list[str], make: Callable[[Any], Value], table: _Table) -> Value | None:
    try:
        return make(table)
    except ProblemError as error:
        complaints.append(f"{FILE}: {error}")
        return None


def _evaluator(table: _Evaluator) -> EvaluatorSpec:
    return EvaluatorSpec(
        file=table.file,
        integrity=Integrity(table.integrity),
        entry=table.entry,
        command=tuple(table.command),
        build=tuple(table.build),
        text=table.text,
        runtime=table.runtime,
        python=table.python,
        image=table.image,
        requirements=tuple(table.requirements),
        preload=tuple(table.preload),
        read=tuple(table.read),
        scorer_read=tuple(table.scorer_read),
        path=tuple(table.path),
        warmups=table.warmups,
        repeats=table.repeats,
        min_repeats=table.min_repeats,
        repeats_confidence=table.repeats_confidence,
        stage_thresholds=tuple(table.stage_thresholds),
        holdout=table.holdout,
        audit=table.audit,
        audit_tolerance=table.audit_tolerance,
        verifier=table.verifier,
        lenient=table.lenient,
    )


def _idle(table: _Evaluator) -> list[str]:
    """Keys for a feature that is not turned on."""
    found = []
    if "repeats_confidence" in table.model_fields_set and not table.min_repeats:
        found.append(f"{FILE}: evaluator.repeats_confidence decides when repeats are spared: add evaluator.min_repeats")
    if "audit_tolerance" in table.model_fields_set and not table.audit:
        found.append(f"{FILE}: evaluator.audit_tolerance limits the difference of scores: add evaluator.audit")
    return found


def _own_modules(folder: Folder, table: _Evaluator) -> list[str]:
    """Modules of the problem among those to preload. The warm process, which forks programs, has no sandbox."""
    names = {name.partition(".")[0] for name in table.preload}
    own = [name for name in sorted(names) if {f"{name}.py", f"{name}/__init__.py"} & folder.files.keys()]
    return [
        f"{FILE}: evaluator.preload: {name} is a module of the problem, and the warm process runs no code of a problem:"
        " import it in the evaluator, and map large data with numpy.load(PATH, mmap_mode='r'), which evaluations share"
        for name in own
        if not (table.python or table.image or _installed(name))
    ]


def _installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _objective(table: _Objective) -> Objective:
    return Objective(**{**table.model_dump(), "direction": Direction(table.direction)})


def _check_functions(folder: Folder, table: _Evaluator, complaints: list[str]) -> None:
    separate = table.integrity == "separate"
    stage, thresholds = ("score_stage" if separate else "evaluate_stage"), len(table.stage_thresholds)
    needed = {}
    if separate:
        needed["score"] = "write score(outputs, program), which returns a dict of scores"
    if table.verifier:
        check_evaluator(folder, table.verifier, {**needed} or {"evaluate": "write evaluate(program_path)"}, complaints)
    if table.holdout:
        words = "outputs, program" if separate else "program_path"
        needed["holdout"] = f"write holdout({words}), or set evaluator.holdout = false"
    if (table.python or table.image) and table.file in folder.files:
        return  # another interpreter may read another syntax; running the seed will tell
    text = check_evaluator(folder, table.file, needed, complaints)
    if not text:
        return
    if not separate and not stages(text, stage):
        check_evaluator(folder, table.file, {"evaluate": "write evaluate(program_path)"}, complaints)
    if thresholds > stages(text, stage):
        complaints.append(
            f"{FILE}: evaluator.stage_thresholds names {thresholds} stages, and {table.file} defines"
            f" {stages(text, stage)}: write {stage}{stages(text, stage) + 1}(), or remove a threshold"
        )


def _unclear(seeds: Sequence[Program], main: str) -> list[str]:
    """Faults of seeds for which a runtime would not know the file to run."""
    files = {seed.files[0][0] if seed.single else main for seed in seeds}
    if "" in files:
        return [f"{FILE}: main is missing: name the file of the program that the runtime runs"]
    if len(files) > 1:
        return [f"{FILE}: the runtime runs one file, and the seeds have {', '.join(sorted(files))}: use the same name"]
    return []


def _main(seeds: Sequence[Program], document: _Document, complaints: list[str]) -> str:
    """The called file in a program of several. A separate Python evaluator needs it."""
    several = [seed for seed in seeds if not seed.single]
    main = document.main
    needed = document.evaluator.integrity == "separate" and bool(document.evaluator.entry)
    if not main and several and needed:
        main = "main.py"
    if document.evaluator.runtime:
        complaints += _unclear(seeds, main)
    complaints += [
        f"{FILE}: main = {main!r} is not a file of the seed that holds {', '.join(path for path, _ in seed.files[:5])}:"
        " name the file that the evaluator calls"
        for seed in several
        if main and main not in dict(seed.files)
    ]
    return main if several else ""

"""Problems that a call describes: a seed's text, objectives and measures, and a function that scores."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from evolve.problem import EvaluatorSpec, Integrity, Limits, Measure, Objective, Problem
from evolve.program import Program
from service.ports import Bundle
from service.problems.bundle import open_bundle, pack
from service.problems.description import measures_as_json, objectives_as_json
from service.problems.folder import Folder
from service.problems.function import FILE, evaluator_text
from service.problems.load import LoadedProblem
from service.problems.sources import suffix_of
from service.problems.toml_writer import toml_text

PROBLEM_FILE, EVALUATOR = "problem.toml", "evaluator.py"
_ABSENT = """\"\"\"Stands for a function of Python that scored this run.\"\"\"


def score(outputs, program):
    return {"error": "a function of Python scored this run: continue it by evolve.open_run(RUN, evaluate=FUNCTION)"}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineProblem:
    """A problem in a few words.

    Attributes:
        seed: the text of the program that the search starts from.
        objectives, measures: values, or names alone: an objective of a name alone is maximised and has no bounds.
        limits: of an evaluation in the sandbox.
    """

    seed: str
    name: str = "program"
    description: str = ""
    language: str = "python"
    objectives: Sequence[str | Objective] = ()
    measures: Sequence[str | Measure] = ()
    limits: Limits = field(default_factory=Limits)


def load_sketch(sketch: InlineProblem) -> LoadedProblem:
    """The problem of a sketch, without an evaluator so far.

    Raises:
        ProblemError, ProgramError: it cannot be used.
    """
    path = f"program{suffix_of(sketch.language)}"
    objectives = [Objective(name=one) if isinstance(one, str) else one for one in sketch.objectives]
    measures = [Measure(name=one) if isinstance(one, str) else one for one in sketch.measures]
    problem = Problem(
        name=sketch.name,
        description=sketch.description,
        language=sketch.language,
        seeds=(Program.of({path: sketch.seed}),),
        evaluator=EvaluatorSpec(text=True),
        limits=sketch.limits,
        objectives=tuple(objectives),
        measures=tuple(measures),
    )
    return loaded_from(problem)


def loaded_from(problem: Problem) -> LoadedProblem:
    """A problem that is a value already."""
    seeds = {f"{seed.id}/{path}": text.encode() for seed in problem.seeds for path, text in seed.files}
    bundle = pack(Folder(files=seeds))
    named = replace(problem, bundle=bundle.hash)
    return LoadedProblem(problem=named, search={}, policies=(), warnings=(), bundle=bundle, place=str(Path.cwd()))


def stored_bundle(problem: Problem, bundle: Bundle) -> Bundle:
    """A folder that a run of the problem can be read from later, with `problem.toml` where it has none.

    The function that scores it is not part of it: whoever continues the run gives it again.
    """
    folder = open_bundle(bundle)
    if PROBLEM_FILE in folder.files:
        return bundle
    document = {
        "schema": 1,
        "name": problem.name,
        "description": problem.description,
        "language": problem.language,
        "seeds": [seed.id for seed in problem.seeds],
        "known_best": problem.known_best,
        "evaluator": {"file": EVALUATOR, "text": True},
        "limits": asdict(problem.limits),
        "objectives": [_stated(one) for one in objectives_as_json(problem)],
        "measures": [_stated(one) for one in measures_as_json(problem)],
    }
    text = toml_text({key: value for key, value in document.items() if value not in (None, [])})
    files = {**folder.files, PROBLEM_FILE: text.encode(), EVALUATOR: _ABSENT.encode()}
    return pack(Folder(files=files, executable=folder.executable))


def _stated(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if value is not None}


def scored_here(loaded: LoadedProblem) -> LoadedProblem:
    """The problem, scored by a function in this process instead of its evaluator."""
    return replace(loaded, problem=replace(loaded.problem, evaluator=EvaluatorSpec(text=True)))


def scored_in_sandbox(loaded: LoadedProblem, function: Callable[..., Any]) -> LoadedProblem:
    """The problem, scored by a function in the sandbox instead of its evaluator.

    Raises:
        UsageError: the function cannot be taken there.
    """
    problem, folder = loaded.problem, open_bundle(loaded.bundle)
    files = {**folder.files, FILE: evaluator_text(function).encode()}
    bundle = pack(Folder(files=files, executable=folder.executable))
    spec = problem.evaluator
    evaluator = EvaluatorSpec(file=FILE, integrity=Integrity.SHARED, python=spec.python, preload=spec.preload)
    return replace(loaded, problem=replace(problem, evaluator=evaluator, bundle=bundle.hash), bundle=bundle)

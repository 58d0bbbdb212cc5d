"""The winner of a run put into the files that the run began from, and scored again."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from evolve.answers.regions import enforce, guarded
from evolve.errors import AnswerError
from evolve.evaluation import Evaluation, ScoringRequest
from evolve.program import Program
from service.errors import ConflictError
from service.ports.evaluators import EvaluatorFactory, EvaluatorRequest
from service.ports.values import Bundle
from service.problems.command.mutable_part import END, START, find_mutable_part
from service.problems.load import load_bundle
from service.problems.source_files import SourceFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceChange:
    """The files of a run as they are and as its winner makes them.

    Attributes:
        before: path of each file that changes, relative to the folder, and its text, whose lines end in LF.
        after: the same files and new ones with their new text; a file that is missing here is removed.
        moved: files that are no longer what the run began from.
    """

    before: Mapping[str, str]
    after: Mapping[str, str]
    moved: tuple[str, ...]


def plan_change(
    seeds: Mapping[str, str], winners: Mapping[str, str], current: SourceFiles, *, force: bool = False
) -> SourceChange:
    """Put a winner into the files that a run began from; nothing is written.

    If a seed has regions, only these change. Everything outside stays as it is on the disk. Markers that Evolve had put
    around functions of a script are left out.

    Args:
        seeds: text by path of the program that the run began from.
        winners: text by path of the program that replaces it.
        current: the files.
        force: whether files may have changed since.

    Raises:
        ConflictError: a file has changed since and is not to be forced, or its regions do not match any more.
    """
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    moved: list[str] = []
    for path in sorted(seeds.keys() | winners.keys()):
        old, wanted, place = current.read(path), winners.get(path), current.place(path)
        unmarked = old is not None and path in seeds and _hides_markers(seeds[path], old)
        began = _without_markers(seeds[path]) if unmarked else seeds.get(path)
        new = _into(seeds.get(path), wanted, None, path, hidden=unmarked)
        if old not in (began, _without_markers(new) if unmarked and new is not None else new):
            moved.append(place)
            new = _into(seeds.get(path), wanted, old, path, hidden=unmarked) if force else new
        if unmarked and new is not None:
            new = _without_markers(new)
        if new == old:
            continue
        before |= {} if old is None else {place: old}
        after |= {} if new is None else {place: new}
    if moved and not force:
        raise ConflictError(
            f"{', '.join(moved)} changed since the run began: look at the winner with --patch --force, or apply it to"
            " the changed file with --force"
        )
    return SourceChange(before=before, after=after, moved=tuple(moved))


def _hides_markers(seed: str, text: str) -> bool:
    """Whether a seed has markers that its file has not: Evolve had put them around functions."""
    return guarded(Program.of({"seed": seed})) and not guarded(Program.of({"file": text}))


def _without_markers(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if line not in (START, END))


def _into(seed: str | None, wanted: str | None, changed: str | None, path: str, *, hidden: bool) -> str | None:
    """A winner's regions in its seed, or in a file that has changed since; all of it where the seed has no region."""
    if seed is None or wanted is None or not guarded(Program.of({path: seed})):
        return wanted
    frame = seed if changed is None else _marked_again(seed, changed, path) if hidden else changed
    try:
        return enforce(Program.of({path: frame}), Program.of({path: wanted})).program.text
    except AnswerError as error:
        raise ConflictError(f"the mutable regions of {path} are others than those of the run: {error}") from error


def _marked_again(seed: str, text: str, path: str) -> str:
    """A changed script with the markers that its seed has, around the same functions.

    Raises:
        ConflictError: other functions may change now.
    """
    before, now = (find_mutable_part(one) for one in (_without_markers(seed), text))
    if before is None or now is None or before.functions != now.functions:
        raise ConflictError(f"the functions of {path} that may change are others than those of the run: use --patch")
    return now.text


@dataclass(frozen=True, slots=True, kw_only=True)
class RescoringResult:
    """The seed and the winner of a run, scored again with equal limits, one after the other.

    Attributes:
        repeats: how often each was scored.
        isolation: of the sandbox.
    """

    before: Evaluation
    after: Evaluation
    repeats: int
    isolation: str


async def rescore(
    bundle: Bundle, name: str, evaluators: EvaluatorFactory, before: Program, after: Program, *, others: bool = False
) -> RescoringResult:
    """Score two programs again with the evaluator of their run.

    Args:
        bundle: the folder of the problem.
        name: of the problem.
        evaluators: of this process.
        before: the seed.
        after: the winner.
        others: whether somebody else wrote the problem.

    Raises:
        InvalidProblemError: the evaluator cannot be used.
        RefusedError: the machine does not offer the isolation that is required.
    """
    loaded = load_bundle(bundle, name)
    problem = replace(loaded.problem, bundle=bundle.hash)
    request = EvaluatorRequest(problem=problem, bundle=bundle, source=loaded.place, slots=1, others=others)
    async with evaluators.open(request) as opened:
        scored = [
            await opened.evaluator.evaluate(program, word, ScoringRequest(traced=False))
            for word, program in (("before", before), ("after", after))
        ]
    return RescoringResult(
        before=scored[0], after=scored[1], repeats=problem.evaluator.repeats, isolation=opened.isolation
    )

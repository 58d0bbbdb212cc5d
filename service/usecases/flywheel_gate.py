"""Whether the gate of a flywheel can decide: its versions of adapters are compared on parents of runs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count

from evolve.statistics.intervals import enough_pairs
from service.errors import ServiceError
from service.ports import CANCELLED, RunRecord
from service.trainer.held_out_parents import SHARE, named_problem, parent_name, prompts_in
from service.usecases.flywheel import FlywheelOrder, RecordedRound

# The back end whose gate asks for changes of parents of runs. The others have held-out problems of their own.
ON_PARENTS = "trl"
MIN_PARENTS = next(number for number in count(1) if enough_pairs(number))

Records = Callable[[str], Iterable[str]]


def refuse_few_held_out(
    order: FlywheelOrder, rounds: Sequence[RecordedRound], runs: Sequence[RunRecord], records: Records
) -> None:
    """Refuse to search on where the gate could never decide.

    Args:
        order: what the flywheel does.
        rounds: that were begun.
        runs: of the held-out problems. They have ended.
        records: the training records of a run, by its id.

    Raises:
        ServiceError: the held-out problems have too few parents.
    """
    if _backend(order) != ON_PARENTS:
        return
    # Several problems may begin with one program, whose prompts differ.
    parents = (
        f"{parent} of {named_problem(run.problem_name, run.bundle_hash)}" for run, parent in _parents(runs, records)
    )
    if (found := _distinct(parents, MIN_PARENTS)) == MIN_PARENTS:
        return
    if any(one.job is not None for one in rounds):
        cure = "begin another flywheel with more held-out problems, or with more --evaluations"
    elif rounds:
        cure = "add problems to the folder of --held-out, and repeat the command"
    else:
        cure = "add problems to the folder of --held-out, or raise --evaluations, and repeat the command"
    raise ServiceError(
        f"the held-out problems have {_told(found)} with prompts, and the gate needs at least {MIN_PARENTS}: {cure}"
    )


def refuse_few_searched(order: FlywheelOrder, runs: Sequence[RunRecord], records: Records) -> None:
    """Refuse to train where the gate could not decide, which holds out a share of the parents that were searched.

    Args:
        order: what the flywheel does. It has no held-out problems.
        runs: of its rounds so far.
        records: the training records of a run, by its id.

    Raises:
        ServiceError: the searched problems have too few parents.
    """
    needed = SHARE * MIN_PARENTS
    if _backend(order) != ON_PARENTS:
        return
    if (found := _distinct((parent for _, parent in _parents(runs, records)), needed)) == needed:
        return
    raise ServiceError(
        f"the searched problems have {_told(found)} with prompts, and the gate needs at least {needed}, to hold out"
        f" {MIN_PARENTS} of them: repeat the command with --held-out FOLDER, or begin another flywheel with more"
        " --evaluations"
    )


def _told(parents: int) -> str:
    return "1 parent" if parents == 1 else f"{parents} parents"


def _backend(order: FlywheelOrder) -> str:
    return str(order.training.get("backend", ""))


def _parents(runs: Sequence[RunRecord], records: Records) -> Iterator[tuple[RunRecord, str]]:
    """The parents of the prompts of runs, by name."""
    for run in runs:
        if run.state != CANCELLED:
            yield from ((run, parent_name(line["parent"]["files"])) for line in prompts_in(records(run.id)))


def _distinct(names: Iterable[str], enough: int) -> int:
    """How many names there are, up to so many."""
    found: set[str] = set()
    for name in names:
        found.add(name)
        if len(found) == enough:
            break
    return len(found)

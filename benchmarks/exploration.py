"""How greedy a search of few evaluations should be: `python -m benchmarks.exploration`.

Evaluations that a search needs until it is where the search with the base setting ends (the median over seeds of its
best), by the number of islands and the exponent of the rank power law, and with other selections. The built-in syntax
mutator searches on cheap tasks (`benchmarks.cheap_tasks`), one answer a proposal or as many as `--answers` says, and
its programs run in this process, each under an alarm and all under a limit of memory.

A search that does not get there counts as if it had with its last evaluation; how many those are is told, and how many
searches are ahead of the one with the base setting, and behind it, after parts of the budget. All settings
take ten minutes or more: with `--keep` each search is kept in a file, and what stands there is not made again.
"""

import asyncio
import contextlib
import io
import resource
import signal
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from benchmarks.cheap_tasks import TASKS, CheapTask
from benchmarks.counts import Kept, geometric
from benchmarks.harness import Watch, arguments, new_job, play, report, scratch
from evolve.configuration import ArchiveConfig, BudgetConfig, RunConfig, SelectionOptions
from evolve.evaluation import PLAIN, Evaluation, Outcome, ScoringRequest
from evolve.program import Program
from service.db.engine import open_database
from service.db.log import SqlRunLog
from service.policy.syntax.policy import SyntaxPolicy
from service.timestamps import SystemClock

SECONDS = 0.5
MEMORY_BYTES = 3 << 30
PARTS = (16, 8, 4, 2, 1)
ROUNDING = 1e-12

# The evaluations, counted from the seed's, at which the best got better, each with that best.
Steps = Sequence[tuple[int, float]]
Searches = dict[str, dict[str, list[Steps]]]
Counts = dict[str, list[int | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What of a search is varied; nothing of it is left to a default."""

    islands: int
    exponent: float = 1.0
    selection: str = "power_law"
    puct: float = 0.0
    crossover: float = 0.0
    size: int = 200

    @property
    def name(self) -> str:
        how = [f"exponent {self.exponent:g}" if self.selection == "power_law" else self.selection]
        how += [f"{share:g} {of}" for of, share in (("puct", self.puct), ("crossover", self.crossover)) if share]
        how += [f"archive of {self.size}"] if self.size != ArchiveConfig().size else []
        return f"{self.islands} island{'s' * (self.islands > 1)}, {', '.join(how)}"

    def config(self, seed: int, evaluations: int) -> RunConfig:
        return RunConfig(
            islands=self.islands,
            selection_options=SelectionOptions(power_law_exponent=self.exponent),
            selection={self.selection: 1.0 - self.puct} | ({"puct": self.puct} if self.puct else {}),
            operators={"mutate": 1.0 - self.crossover, "crossover": self.crossover},
            archive=ArchiveConfig(size=self.size),
            seed=seed,
            budget=BudgetConfig(evaluations=evaluations),
        )


BASE = Setting(islands=4, exponent=1.0).name
_VARIED = (
    *(Setting(islands=islands, exponent=exponent) for islands in (4, 2, 1) for exponent in (1.0, 2.0, 3.0)),
    Setting(islands=1, selection="offspring"),
    Setting(islands=1, selection="puct"),
    Setting(islands=1, exponent=2.0, puct=0.5),
    Setting(islands=1, exponent=2.0, crossover=0.2),
    Setting(islands=1, exponent=2.0, crossover=0.5),
    Setting(islands=1, exponent=2.0, size=50),
)
SETTINGS = {setting.name: setting for setting in _VARIED}


class Late(BaseException):
    """A program ran for too long; no `except Exception` in it stops this."""


def _ring(*_: object) -> NoReturn:
    raise Late


@contextlib.contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Interrupt what runs for longer; in the main thread only."""
    before = signal.signal(signal.SIGALRM, _ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Nothing that a program prints or is warned of is seen."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@dataclass
class InProcess:
    """Runs programs in this process, and notes where the best got better."""

    task: CheapTask
    slots: int = 2
    waiting: str = ""
    evaluated: int = 0
    steps: list[tuple[int, float]] = field(default_factory=list)

    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        del evaluation_id, scoring
        await asyncio.sleep(0)  # others get their turn, as while a real evaluation runs
        self.evaluated += 1
        try:
            with silence(), alarm(SECONDS):
                score = self.task.run(program.text)
        except (Exception, SystemExit, Late) as error:  # noqa: BLE001 - a program may raise anything
            return Evaluation(outcome=Outcome.INVALID, reason=type(error).__name__)
        if not self.steps or score > self.steps[-1][1]:
            self.steps.append((self.evaluated, score))
        return Evaluation(outcome=Outcome.OK, scores={"score": score})


def search(task: CheapTask, setting: Setting, seed: int, evaluations: int, answers: int) -> Steps:
    """One search to its end."""
    problem, evaluator = task.problem, InProcess(task)
    policy = SyntaxPolicy(problem, answers=answers)
    # Hundreds of searches in one process would leave as many databases open.
    with scratch() as folder, contextlib.closing(open_database(f"sqlite:///{Path(folder) / 'evolve.db'}")) as database:
        log = SqlRunLog(database, SystemClock())
        status = play(new_job(log, problem, setting.config(seed, evaluations), policy, evaluator), Watch())
    if status.state != "succeeded":
        raise SystemExit(f"the search on {task.name} with {setting.name} and seed {seed} {status.state}")
    return evaluator.steps


def searches(names: Sequence[str], answers: int, kept: Kept[Steps], options: Any) -> Searches:
    """Searches by setting, task and seed; made seed by seed, the settings in turn."""
    tasks = [task for task in TASKS if task.name in options.tasks]
    found: Searches = {name: {task.name: [] for task in tasks} for name in names}
    for seed in range(options.seeds):
        for task in tasks:
            for name in names:
                measured = {
                    "setting": name, "task": task.name, "seed": seed,
                    "evaluations": options.evaluations, "answers": answers,
                }  # fmt: skip
                measure = partial(search, task, SETTINGS[name], seed, options.evaluations, answers)
                found[name][task.name].append(kept.result(measured, measure))
    return found


def reached(steps: Steps, target: float) -> int | None:
    return next((evaluation for evaluation, best in steps if best >= target - ROUNDING), None)


def level(steps: Steps, evaluations: int) -> float:
    """The best of a search after so many evaluations."""
    return max((best for evaluation, best in steps if evaluation <= evaluations), default=-np.inf)


def ahead(of: Mapping[str, list[Steps]], base: Mapping[str, list[Steps]], evaluations: int) -> dict[str, int]:
    """How many searches are ahead of the base's on the same task and seed, and how many behind."""
    levels = [
        (level(one, evaluations), level(other, evaluations))
        for task in base
        for one, other in zip(of[task], base[task], strict=True)
    ]
    return {
        "ahead": sum(one > other + ROUNDING for one, other in levels),
        "behind": sum(one < other - ROUNDING for one, other in levels),
    }


def compared(found: Searches, base: str, last: int) -> dict[str, Any]:
    """Where the base ends on each task, how soon each setting is there, and which is ahead before."""
    targets = {task: float(np.median([steps[-1][1] for steps in of])) for task, of in found[base].items()}
    counts = {
        name: {task: [reached(steps, targets[task]) for steps in of] for task, of in by_task.items()}
        for name, by_task in found.items()
    }
    return {
        "targets": targets,
        "settings": {
            name: {
                **_against(of, counts[base], last),
                "best_after": {str(last // part): ahead(found[name], found[base], last // part) for part in PARTS},
            }
            for name, of in counts.items()
        },
    }


def _against(counts: Counts, base: Mapping[str, list[int | None]], last: int) -> dict[str, Any]:
    not_reached = {task: of.count(None) for task, of in counts.items()}
    return {**geometric(counts, base, last), "not_reached": not_reached, "reached_after": counts}


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--evaluations", type=int, default=500, help="of a search, the seed's among them")
    parser.add_argument("--base", choices=SETTINGS, default=BASE, help="what the others are compared with")
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS), help="beside the base")
    tasks = [task.name for task in TASKS]
    parser.add_argument("--tasks", nargs="+", choices=tasks, default=tasks)
    parser.add_argument("--answers", type=int, nargs="+", default=[1], help="of a proposal: 1, 4 or both")
    parser.add_argument("--keep", type=Path, help="a file that keeps each search; what stands there is not made again")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    names, kept = list(dict.fromkeys([options.base, *options.settings])), Kept[Steps](options.keep, "steps")
    found = {answers: searches(names, answers, kept, options) for answers in options.answers}
    figures = {
        "seeds": options.seeds,
        "evaluations": options.evaluations,
        "base": options.base,
        "answers": {str(answers): compared(of, options.base, options.evaluations) for answers, of in found.items()},
    }
    report("exploration", figures, options.out)


if __name__ == "__main__":
    main()

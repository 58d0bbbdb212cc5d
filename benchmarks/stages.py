"""Benefit of the optional stages of a run, each against the same run without it: `python -m benchmarks.stages`.

An arm is a run with a stage: its policies and its settings. It has the same policy otherwise, the same budget of
evaluations and the same seeds as its base, on bundled examples. For each budget the table holds the mean of the best
fitness, and its lead over the base, paired by seed, with a 95 % interval and a p-value (Holm over the examples).
`cost` is what a run takes: seconds, proposals, tokens of a model, and proposals of a dear policy.

A further stage is a function that gives its words, with an entry in `ARMS`. The runs are those of `evolve run`, but for
their programs, which run in this process. With `--keep` each run is kept in a file, and what stands there is not made
again.
"""

import asyncio
import contextlib
import importlib.util
import json
import resource
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from benchmarks.advised import FINE, AdvisedAuthor, ScriptedAdvisor
from benchmarks.counts import Kept
from benchmarks.evolve_runs import ADAPTIVE, TUNER
from benchmarks.exploration import MEMORY_BYTES, SECONDS, Late, silence
from benchmarks.harness import arguments, collect_rarely, report, scratch
from benchmarks.policy_server import policy_thread
from benchmarks.tasks import EXAMPLES
from evolve.change_events import HintGiven, RequestedChange
from evolve.evaluation import PLAIN, Evaluation, Outcome, ScoringRequest, read_result
from evolve.event_types import CandidateEvaluated, ProposalCreated
from evolve.problem import Problem
from evolve.program import Program
from evolve.search.hints import MAX_HINT_PROPOSALS
from evolve.statistics.intervals import mean_over_runs
from evolve.statistics.significance import holm, paired_p_value
from service.config import PoliciesSettings
from service.db.engine import Database, open_database
from service.db.log import SqlRunLog
from service.db.reader import SqlRunReader
from service.policy.opening import PolicyOrder, open_policies
from service.ports import Intent, LoggedEvent
from service.projections.insights import stored_facts
from service.runner.desired_state import RunOrders
from service.runner.run_job import RunJob
from service.runner.run_loop import drive
from service.runner.status import RunStatus
from service.timestamps import SystemClock
from service.usecases.plan import RunOrder, RunPlan, new_run, plan_new

SET = 4  # answers of a completion, and ideas for them
PROBLEMS = ("bin_packing", "cap_set", "function_minimisation", "low_autocorrelation", "symbolic_regression")
SYNTAX = '[[policies]]\nname = "syntax"\nkind = "syntax"\n'

# The best fitness by budget, and what the run took.
Result = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one run of an arm is made: a folder of its own for its files."""

    folder: Path
    example: str
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWords:
    """What an arm adds to a run.

    Attributes:
        policies: text of its policy file.
        settings: `KEY=VALUE` words of its configuration.
        hint_after: evaluations after which a person gives the facts of the run as a hint; 0: nobody does.
    """

    policies: str
    settings: tuple[str, ...] = ()
    hint_after: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """A stage in a run.

    Attributes:
        words: what a run gets; what it needs, such as a server, lives as long as the context.
        base: name of the arm that it is compared with; empty: it is a base.
    """

    words: Callable[[Place], AbstractContextManager[RunWords]]
    base: str = ""


def fixed(policies: str, *settings: str) -> Callable[[Place], AbstractContextManager[RunWords]]:
    """The words of an arm that needs nothing else."""

    @contextmanager
    def words(place: Place) -> Iterator[RunWords]:
        del place
        yield RunWords(policies=policies, settings=settings)

    return words


def advised(*settings: str, hint_after: int = 0) -> Callable[[Place], AbstractContextManager[RunWords]]:
    """The words of an arm whose author is scripted, and reads the facts in its prompts."""

    @contextmanager
    def words(place: Place) -> Iterator[RunWords]:
        with policy_thread(0.0, AdvisedAuthor(seed=place.seed)) as url:
            yield RunWords(policies=_served("cheap", url), settings=settings, hint_after=hint_after)

    return words


@contextmanager
def escalated(place: Place) -> Iterator[RunWords]:
    """The words of an arm with a dear author beside the cheap one, which draws steps of all scales."""
    cheap, dear = AdvisedAuthor(seed=place.seed), AdvisedAuthor(seed=place.seed + 1000, scales=FINE)
    with policy_thread(0.0, cheap) as cheap_url, policy_thread(0.0, dear) as dear_url:
        escalates = "escalate_after = 20\n"
        yield RunWords(policies=_served("cheap", cheap_url) + _served("dear", dear_url) + escalates)


def in_sets(*, advisor: bool = False, diverse: bool = True) -> Callable[[Place], AbstractContextManager[RunWords]]:
    """The words of an arm whose author writes four programs in a completion, alone or each by an idea of an advisor."""

    @contextmanager
    def words(place: Place) -> Iterator[RunWords]:
        author = AdvisedAuthor(seed=place.seed, scales=FINE)
        guide = ScriptedAdvisor(seed=place.seed + 1000, ideas=SET, diverse=diverse)
        with policy_thread(0.0, author) as url, policy_thread(0.0, guide) as guide_url:
            form = f'model = "chain"\nformat = "tags:answer"\nanswers = {SET}\nsamples = 1\nconcurrency = 1\n'
            writing = f'[[policies]]\nname = "cheap"\nbase_url = "{url}"\n{form}'
            guiding = f'[[policies]]\nname = "guide"\nrole = "advisor"\nmodel = "single"\nbase_url = "{guide_url}"\n'
            yield RunWords(policies=writing + (f"{guiding}concurrency = 1\n" if advisor else ""))

    return words


def _served(name: str, url: str) -> str:
    form = 'model = "single"\nformat = "single"\nanswers = 1\nsamples = 1\nconcurrency = 1\n'
    return f'[[policies]]\nname = "{name}"\nbase_url = "{url}"\n{form}'


ARMS: Mapping[str, Arm] = {
    "syntax": Arm(words=fixed(SYNTAX, ADAPTIVE)),
    "tuning": Arm(words=fixed(SYNTAX + TUNER, ADAPTIVE), base="syntax"),
    "scripted": Arm(words=advised()),
    "insights": Arm(words=advised("insights.every=20"), base="scripted"),
    "hint": Arm(words=advised(hint_after=40), base="scripted"),
    "escalation": Arm(words=escalated, base="scripted"),
    "prompts": Arm(words=advised("prompt_pool=4"), base="scripted"),
    "sets": Arm(words=in_sets()),
    "diverse advisor": Arm(words=in_sets(advisor=True), base="sets"),
    "sharp advisor": Arm(words=in_sets(advisor=True, diverse=False), base="sets"),
}


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Interrupt what computes for longer, whatever else the machine does; in the main thread only."""

    def ring(*_: object) -> NoReturn:
        raise Late

    before = signal.signal(signal.SIGPROF, ring)
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    finally:
        signal.signal(signal.SIGPROF, before)


@dataclass
class InProcess:
    """Scores programs of an example in this process, by the example's own scorer."""

    problem: Problem
    scorer: ModuleType
    slots: int = 2
    waiting: str = ""

    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        del evaluation_id, scoring
        await asyncio.sleep(0)  # others get their turn, as while a real evaluation runs
        try:
            with silence(), cpu_limit(SECONDS):
                raw = self.scorer.score(self._outputs(program), dict(program.files))
        except (Exception, SystemExit, Late) as error:  # noqa: BLE001 - a program may raise anything
            return Evaluation(outcome=Outcome.INVALID, reason=type(error).__name__)
        return read_result(raw, self.problem)

    def _outputs(self, program: Program) -> list[dict[str, Any]]:
        if not self.problem.evaluator.entry:
            return []
        space: dict[str, Any] = {"__name__": "program"}
        exec(compile(program.text, "program.py", "exec"), space)
        value = space[self.problem.evaluator.entry]()
        return [{"value": json.loads(json.dumps(value)), "seconds": 0.0, "error": None}]


@dataclass
class Watch:
    """Notes the fitness of every evaluation, in order, and the events by kind."""

    scored: list[float | None] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    dear: int = 0
    react: Callable[[int], None] = lambda _: None

    def committed(self, events: Sequence[LoggedEvent], status: RunStatus) -> None:
        del status
        for logged in events:
            self.kinds[str(logged.event.kind)] += 1
            data = logged.event.data
            if isinstance(data, CandidateEvaluated):
                self.scored.append(data.fitness)
            self.dear += isinstance(data, ProposalCreated) and data.policy == "dear"
        self.react(len(self.scored))


def run(arm: str, example: str, seed: int, budgets: Sequence[int]) -> Result:
    """One run of an arm to its end."""
    with scratch() as folder, ARMS[arm].words(Place(folder=Path(folder), example=example, seed=seed)) as words:
        policies = Path(folder) / "policies.toml"
        policies.write_text(words.policies)
        limits = (f"budget.evaluations={max(budgets)}", "budget.wall_seconds=none", "budget.patience=none")
        order = RunOrder(
            problem=EXAMPLES / example,
            settings=(f"seed={seed}", *limits, "budget.target=none", *words.settings),
            policies=[str(policies)],
        )
        plan = plan_new(order, EXAMPLES / example, SystemClock().now())
        with contextlib.closing(open_database(f"sqlite:///{Path(folder) / 'evolve.db'}")) as database:
            watch = Watch()
            status = asyncio.run(_drive(plan, database, watch, words.hint_after))
    if status.state != "succeeded":
        raise SystemExit(f"the run of {arm} on {example} with seed {seed} {status.state}: {status.reason}")
    best = {str(budget): _best(watch.scored[:budget]) for budget in budgets}
    tokens = status.counters.tokens_input + status.counters.tokens_output
    taken = {"seconds": status.elapsed_seconds, "proposals": watch.kinds["proposal.created"], "tokens": tokens}
    return {"best": best, **taken, "dear_proposals": watch.dear}


async def _drive(plan: RunPlan, database: Database, watch: Watch, hint_after: int) -> RunStatus:
    clock, orders = SystemClock(), RunOrders()
    log, facts = SqlRunLog(database, clock), partial(stored_facts, SqlRunReader(database), plan.run_id)

    def give_hint(evaluations: int) -> None:
        if hint_after and evaluations >= hint_after:
            hint = HintGiven(change_id="chg_hint", by="benchmark", text=facts(), proposals=MAX_HINT_PROPOSALS)
            watch.react = lambda _: None
            orders.want(Intent(changes=(RequestedChange(data=hint),)))

    watch.react = give_hint
    log.create(new_run(plan, "none", clock.now()))
    order = PolicyOrder(
        policies=plan.policies, problem=plan.problem, config=plan.config, templates={}, source=plan.source
    )
    async with open_policies(order, PoliciesSettings()) as opened:
        job = RunJob(
            run_id=plan.run_id,
            problem=plan.problem,
            config=plan.config,
            policies=opened.members,
            evaluator=InProcess(plan.problem, load_scorer(Path(plan.source))),
            log=log,
            clock=clock,
            owner="benchmark",
            facts=facts,
        )
        return await drive(job, observer=watch, orders=orders)


def load_scorer(folder: Path) -> ModuleType:
    """The evaluator of an example, imported."""
    spec = importlib.util.spec_from_file_location(f"scorer_of_{folder.name}", folder / "evaluator.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _best(scored: Sequence[float | None]) -> float | None:
    return max((fitness for fitness in scored if fitness is not None), default=None)


def results(arms: Sequence[str], options: Any) -> dict[str, dict[str, list[Result]]]:
    """Runs by arm and example; made seed by seed, the arms in turn."""
    kept = Kept[Result](options.keep, "result")
    found: dict[str, dict[str, list[Result]]] = {arm: {example: [] for example in options.problems} for arm in arms}
    for seed in range(options.seeds):
        for example in options.problems:
            for arm in arms:
                measured = {"arm": arm, "example": example, "seed": seed, "budgets": str(options.budgets)}
                found[arm][example].append(kept.result(measured, partial(run, arm, example, seed, options.budgets)))
    return found


def compared(own: Mapping[str, list[Result]], base: Mapping[str, list[Result]], budget: str) -> dict[str, Any]:
    """An arm and its base after a budget, by example; pairs without a score are left out, and counted."""
    table: dict[str, Any] = {}
    p_values: dict[str, float] = {}
    for example, of in own.items():
        pairs = [(one["best"][budget], other["best"][budget]) for one, other in zip(of, base[example], strict=True)]
        whole = [(one, other) for one, other in pairs if one is not None and other is not None]
        leads = [one - other for one, other in whole]
        estimate = mean_over_runs(leads)
        if len(leads) > 1:
            p_values[example] = paired_p_value(leads)
        table[example] = {
            "mean": _mean([one for one, _ in whole]),
            "base": _mean([other for _, other in whole]),
            "lead": None if estimate is None else estimate.signed,
            "ahead": sum(lead > 0 for lead in leads),
            "behind": sum(lead < 0 for lead in leads),
            "without_score": len(pairs) - len(whole),
        }
    for example, adjusted in zip(p_values, holm(list(p_values.values())), strict=True):
        table[example]["p"] = round(adjusted, 4)
    return table


def cost(of: Mapping[str, list[Result]]) -> dict[str, float | None]:
    """Means over the runs of an arm of what a run takes."""
    every = [result for by_example in of.values() for result in by_example]
    return {
        key: _mean([result.get(key, 0) for result in every])
        for key in ("seconds", "proposals", "tokens", "dear_proposals")
    }


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budgets", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), help="bundled examples in Python, or of text")
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS), help="each with its base")
    parser.add_argument("--keep", type=Path, help="a file that keeps each run; what stands there is not made again")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    collect_rarely()
    named = list(dict.fromkeys(name for arm in options.arms for name in (ARMS[arm].base, arm) if name))
    found = results(named, options)
    figures = {
        arm: {
            "base": ARMS[arm].base,
            "cost": cost(found[arm]),
            "cost_of_base": cost(found[ARMS[arm].base]),
            "budgets": {
                str(budget): compared(found[arm], found[ARMS[arm].base], str(budget)) for budget in options.budgets
            },
        }
        for arm in named
        if ARMS[arm].base
    }
    report("stages", {"seeds": options.seeds, "arms": figures}, options.out)


if __name__ == "__main__":
    main()

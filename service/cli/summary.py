"""What came of a run: its scores against the seed and the best known, what it took, and what to do next."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from evolve.search.assessment import Assessment
from service.cli import formatting
from service.cli.assessment import assessment_json, assessment_rows
from service.cli.completions import completion_rows
from service.cli.end_reason import ending_limit, limit_words
from service.cli.fact_table import facts
from service.cli.failures import failed_seeds, failure_rows, failures_json, remark, seed_rows, unreadable_words
from service.cli.listing import plain_table
from service.cli.records import policy_names
from service.cli.terminal import Terminal, plain
from service.identifiers import candidate_address
from service.policy_settings.kind_traits import WITHOUT_MODEL
from service.ports import CandidateRecord, ResultReader, RunRecord
from service.projections.candidates import objectives_of
from service.projections.continuation import RECORDED
from service.projections.end_reasons import ending
from service.projections.gain_shares import gain_shares, shares_in_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table

    from service.schemas.failures import RunFailures

SCALAR = "combined_score"
FITNESS = "fitness"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """A run at its end, with its seed and its best candidate where it has them.

    Attributes:
        files: paths of the best program.
        failures: why answers came to nothing; None: that was not asked.
        assessment: what came of examining what was found; None where nothing did.
        completions: a row on how completions ended.
        limits: where each limit of the budget was set, as far as it is known.
        failed_seeds: the seeds that could not be scored.
        gain_shares: of the gain of the best over its seed, by what was changed.
    """

    run: RunRecord
    seed: CandidateRecord | None
    best: CandidateRecord | None
    files: tuple[str, ...] = ()
    failures: "RunFailures | None" = None
    completions: tuple[tuple[str, str], ...] = ()
    assessment: Assessment | None = None
    limits: "Mapping[str, Mapping[str, Any]]" = field(default_factory=dict)
    failed_seeds: tuple[CandidateRecord, ...] = ()
    gain_shares: "Mapping[str, float]" = field(default_factory=dict)

    @property
    def compared(self) -> str:
        """What the known best is about: the one objective, else the fitness."""
        if len(self.run.objectives) > 1:
            return FITNESS
        return str(self.run.objectives[0]["name"]) if self.run.objectives else SCALAR

    def score(self, candidate: CandidateRecord | None, objective: str) -> float | None:
        """A candidate's score in an objective's own unit, or its fitness."""
        if candidate is None:
            return None
        if objective == FITNESS and len(self.run.objectives) > 1:
            return candidate.fitness
        if objective in candidate.scores:
            return candidate.scores[objective]
        return candidate.fitness if objective == SCALAR else None


def read_outcome(
    reader: ResultReader,
    run_id: str,
    assessment: Callable[[RunRecord], Assessment | None] = lambda _: None,
    failures: "Callable[[RunRecord], RunFailures | None]" = lambda _: None,
    limits: "Mapping[str, Mapping[str, Any]] | None" = None,
) -> RunOutcome:
    """Read what is stored of a run's end.

    Args:
        reader: where it is stored.
        run_id: the run.
        assessment: reads what came of examining what was found.
        failures: reads why answers came to nothing.
        limits: where each limit of the budget was set.
    """
    run = reader.run(run_id)
    seeds = [candidate for candidate in reader.candidates(run.id, limit=50) if candidate.proposal_number == 0]
    scored = [candidate for candidate in seeds if candidate.fitness is not None]
    seed = max(scored, key=lambda candidate: candidate.fitness or 0.0, default=seeds[0] if seeds else None)
    best = reader.candidate(run.best_candidate_id) if run.best_candidate_id else None
    files = tuple(path for path, _ in reader.program(best.id).files) if best else ()
    return RunOutcome(
        run=run,
        seed=seed,
        best=best,
        files=files,
        failures=failures(run),
        completions=tuple(completion_rows(reader, run)),
        assessment=assessment(run),
        limits=limits or {},
        failed_seeds=tuple(failed_seeds(seeds)),
        gain_shares=gain_shares(reversed(reader.ancestors(best.id))) if best else {},
    )


def gap_closed(seed: float | None, best: float | None, known: float | None) -> float | None:
    """Share of the way from the seed to the best known score that the best has gone; None where that means nothing."""
    if seed is None or best is None or known is None or known == seed:
        return None
    return (best - seed) / (known - seed)


def summary_json(outcome: RunOutcome) -> dict[str, Any]:
    """The object that ends `evolve run --json`."""
    run, best, counters = outcome.run, outcome.best, outcome.run.counters
    return {
        "kind": "run.summary",
        "run_id": run.id,
        "state": run.state,
        "reason": run.reason,
        "ended_by": None if (limit := ending_limit(run, outcome.limits)) is None else limit.as_json(),
        "best": None if best is None else {
            "candidate_id": best.id,
            "program_id": best.program_id,
            "scores": dict(best.scores),
            "fitness": best.fitness,
        },
        "gain_shares": dict(outcome.gain_shares),
        "seed_fitness": run.seed_fitness,
        "known_best": run.known_best,
        "assessment": assessment_json(outcome.assessment),
        "evaluations": counters.evaluations,
        "answers": counters.answers,
        "valid": counters.valid,
        "failed": counters.failed,
        "duplicates": counters.duplicates,
        "rejected": counters.rejected,
        "failures": failures_json(outcome.failures),
        "tokens": {
            "input": counters.tokens_input,
            "cached": counters.tokens_cached,
            "output": counters.tokens_output,
        },
        "cost": counters.cost,
        "seconds": run.active_seconds,
    }  # fmt: skip


def show_summary(terminal: Terminal, outcome: RunOutcome, database: str) -> None:
    """Print what came of a run.

    Args:
        terminal: where to.
        outcome: what came of it.
        database: where it is stored.
    """
    run = outcome.run
    ended = ending(run.reason)
    terminal.show("", plain(f"{run.problem_name}: {run.state}" + (f", {ended}" if ended else "")), "")
    if words := remark(run, outcome.failures):
        terminal.show(words, "")
    terminal.show(scores_table(outcome), "")
    if (gap := _gap(outcome)) is not None:
        terminal.show(gap, "")
    terminal.show(facts(took_rows(outcome, database)), "")
    if not used_model(run):
        terminal.show(
            f"No model was used: every program came from {_built_in(run)}.",
            "To use a model, add: --policy http://localhost:8000/v1 --model NAME",
            "",
        )
    for command in next_commands(outcome):
        terminal.show(f"  {terminal.command(command)}")


def scores_table(outcome: RunOutcome) -> "Table":
    """Seed, best and best known, a column for each objective; the fitness too where it is another number."""
    names = [str(entry["name"]) for entry in outcome.run.objectives] or [SCALAR]
    known = {outcome.compared: formatting.exact(outcome.run.known_best)}
    several = len(names) > 1
    table = plain_table("", *(f"{plain(name)}>" for name in names), *(["fitness>"] if several else []))
    for label, candidate in (("seed", outcome.seed), ("best", outcome.best)):
        cells = [formatting.exact(outcome.score(candidate, name)) for name in names]
        fitness = [formatting.exact(candidate.fitness if candidate else None)] if several else []
        table.add_row(label, *cells, *fitness, style="bold" if label == "best" else "")
    if outcome.run.known_best is not None:
        cells = [known.get(name, "") for name in [*names, *([FITNESS] if several else [])]]
        table.add_row("best known", *cells, style="dim")
    return table


def _gap(outcome: RunOutcome) -> str | None:
    known, name = outcome.run.known_best, outcome.compared
    seed, best = outcome.score(outcome.seed, name), outcome.score(outcome.best, name)
    if known is None or best is None:
        return None
    sign = objectives_of(outcome.run)[0].sign if len(outcome.run.objectives) == 1 else 1.0
    rest = sign * (known - best)
    if rest <= 0:
        return f"The best known {plain(name)} is reached: {formatting.number(-rest)} beyond it."
    closed = gap_closed(seed, best, known)
    share = "" if closed is None else f", after {formatting.share(closed)} of the way from the seed"
    return f"{formatting.number(rest)} short of the best known {plain(name)}{share}."


def took_rows(outcome: RunOutcome, database: str) -> list[tuple[str, Any]]:
    """What a run did and took."""
    run, counters = outcome.run, outcome.run.counters
    pace = counters.evaluations / run.active_seconds if run.active_seconds > 0 else None
    further = _further_scores(outcome)
    return [
        ("best", formatting.short(outcome.best.id) if outcome.best else "none: no program was evaluated with success"),
        *seed_rows(outcome.failed_seeds),
        ("scores", further or None),
        ("gain", shares_in_words(outcome.gain_shares) or None),
        *assessment_rows(run, outcome.assessment),
        ("ended by", ended_by(run, outcome.limits)),
        (
            "evaluated",
            f"{formatting.count(counters.evaluations)}: {counters.valid} valid, {counters.failed} failed",
        ),
        (
            "skipped",
            f"{formatting.plural(counters.duplicates, 'duplicate')}, {counters.rejected} rejected answers"
            f"{unreadable_words(outcome.failures)}",
        ),
        *failure_rows(outcome.failures),
        *outcome.completions,
        ("policies", _names(run)),
        ("tokens", _tokens(run)),
        ("cost", counters.cost if used_model(run) else None),
        ("time", f"{formatting.duration(run.active_seconds)}, {formatting.number(pace, 3)} candidates/s"),
        ("isolation", f"{run.isolation}, integrity {run.integrity}"),
        ("run", run.id),
        ("stored in", plain(database)),
    ]


def ended_by(run: RunRecord, limits: "Mapping[str, Mapping[str, Any]]") -> str | None:
    """The limit that ended a run, where it was set and how to change it."""
    limit = ending_limit(run, limits)
    return None if limit is None else plain(f"{ending(run.reason)} ({limit_words(limit)})")


def _further_scores(outcome: RunOutcome) -> str:
    if outcome.best is None:
        return ""
    shown = {str(entry["name"]) for entry in outcome.run.objectives} or {SCALAR}
    rest: Mapping[str, float] = {**outcome.best.scores, **outcome.best.measures}
    return ", ".join(f"{plain(name)} {formatting.number(value)}" for name, value in rest.items() if name not in shown)


def _tokens(run: RunRecord) -> str | None:
    counters = run.counters
    if not used_model(run):
        return None
    sent, cached = formatting.count(counters.tokens_input), formatting.count(counters.tokens_cached)
    return f"{sent} in ({cached} cached), {formatting.count(counters.tokens_output)} out"


def _names(run: RunRecord) -> str | None:
    """Those of a run of several policies."""
    return policy_names(run) if len(run.policies) > 1 else None


def used_model(run: RunRecord) -> bool:
    """Whether any policy of the run is a model."""
    return any(policy.get("kind") not in WITHOUT_MODEL for policy in run.policies)


def _built_in(run: RunRecord) -> str:
    """The policies of a run that has no model, as a sentence names them."""
    names = {"syntax": "the built-in syntax mutator", "tuner": "the built-in tuner"}
    kinds = dict.fromkeys(str(policy.get("kind")) for policy in run.policies)
    return " and ".join(names.get(kind, f"the policy {kind}") for kind in kinds)


def next_commands(outcome: RunOutcome) -> list[str]:
    """What a user does next, ready to paste."""
    run = formatting.short(outcome.run.id)
    if outcome.best is None:
        return [f"candidates {run} --all"]
    from_here = Path(outcome.run.source).is_absolute() and outcome.run.reason != RECORDED
    best = candidate_address(outcome.run.id, outcome.best.id)
    against = (
        f"{candidate_address(outcome.run.id, outcome.seed.id)} "
        if outcome.seed and outcome.seed.id != outcome.best.id
        else ""
    )
    return [
        f"best {run} -o {_target(outcome.files)}",
        f"lineage {best}",
        *([f"diff {against}{best}"] if against else []),
        *([f"apply {run} --patch"] if against and from_here else []),
    ]


def _target(files: Sequence[str]) -> str:
    """Where the best program goes: a file of its kind, or a folder for several."""
    return shlex.quote(f"best{PurePosixPath(files[0]).suffix}") if len(files) == 1 else "best"

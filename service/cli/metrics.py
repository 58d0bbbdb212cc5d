"""What a run came to, in a terminal: the metrics of `docs/reference/metrics.md`."""

from collections import Counter
from typing import TYPE_CHECKING

from service.cli import formatting
from service.cli.listing import plain_table
from service.cli.records import find_run
from service.cli.show import Rows, facts
from service.cli.terminal import Terminal, plain
from service.errors import UsageError
from service.projections.run_site import RunSite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from service.schemas.statistics import RunStatistics, Yield


def show_metrics(terminal: Terminal, site: RunSite, run_id: str, *, alone: bool) -> None:
    """Print what a run came to.

    Raises:
        UsageError: something else was asked for beside it, or of a candidate.
    """
    if not alone or run_id.startswith("cnd_"):
        raise UsageError("--metrics needs a run and no other option: evolve show RUN --metrics")
    run = find_run(site.reader, run_id)
    found = site.statistics(run)
    if terminal.as_json:
        terminal.emit(found.model_dump(mode="json"))
        return
    terminal.show(
        facts(metric_rows(found)), "", draws_table(found), f"An answer or a chain passes with {passes(found)}."
    )
    for noun, yields in (("policy", found.policies), ("operator", found.operators)):
        terminal.show("", yields_table(noun, yields), "", prices_table(noun, yields))
    if found.prompts:
        terminal.show("", prompts_table(found))
    if found.collinearity and found.collinearity.advice:
        terminal.note(found.collinearity.advice)


def prompts_table(found: "RunStatistics") -> "Table":
    """The prompts of the pool, the best first."""
    table = plain_table("prompt", "from", "proposals>", "evaluations>", "gain>", "request~")
    for one in found.prompts:
        table.add_row(
            (str(one.number) if one.number else "as configured") + (" (retired)" if one.retired else ""),
            "" if one.parent is None else str(one.parent) if one.parent else "as configured",
            formatting.count(one.proposals),
            formatting.count(one.evaluations),
            formatting.number(one.gain, 4),
            plain(" ".join(one.request.split())),
        )
    return table


def metric_rows(found: "RunStatistics") -> Rows:
    """What there is to say in one line each."""
    rewards, programs, moved, chain = found.rewards, found.programs, found.migrations, found.chain
    return [
        ("best", _best(found)),
        ("evaluated", f"{formatting.count(found.evaluations)} ({formatting.count(found.valid)} valid)"),
        ("wasted", f"{formatting.plural(found.duplicates, 'duplicate')}, {formatting.count(found.rejected)} rejected"),
        ("hypervolume", _volume(found)),
        ("coverage", _covered(found)),
        ("QD score", None if found.qd_score is None else formatting.number(found.qd_score)),
        ("reward vectors", f"{formatting.count(rewards.distinct)} distinct of {formatting.count(rewards.valid)}"),
        ("  L1", None if rewards.l1 is None else f"{formatting.number(rewards.l1, 4)} between two"),
        ("  L2", _drawn(rewards.l2, rewards.sampled, rewards.valid)),
        ("programs", _drawn(programs.tokens, programs.sampled, found.valid, "in tokens")),
        ("", _drawn(programs.tree, programs.sampled, found.valid, "in syntax trees")),
        (
            "chains",
            chain
            and f"{formatting.number(chain.answers, 3)} evaluated answers,"
            f" {formatting.number(chain.distinct, 3)} distinct,"
            f" utility {formatting.number(chain.utility, 3)}{_of(chain.sampled, chain.chains)}",
        ),
        (
            "migrants",
            f"{formatting.count(moved.arrivals)} arrived, {formatting.count(moved.used)} were built upon,"
            f" {formatting.count(moved.gained)} brought {formatting.plural(moved.improvements, 'improvement')}"
            if moved.arrivals
            else None,
        ),
        ("recovered", recovered_words(found) or None),
        ("collinearity", None if found.collinearity is None else formatting.number(found.collinearity.value, 3)),
    ]


def recovered_words(found: "RunStatistics") -> str:
    """Answers that were not written as asked and made a program all the same, by kind, the most frequent first."""
    counts: Counter[str] = Counter()
    for one in found.policies:
        counts.update(one.recovered)
    return ", ".join(f"{formatting.count(count)} {plain(kind)}" for kind, count in counts.most_common())


def draws_table(found: "RunStatistics") -> "Table":
    """best@k and pass@k, of answers and of chains."""
    table = plain_table("k>", "best@k of answers>", "pass@k>", "best@k of chains>", "pass@k>")
    answers, chains = ({one.k: one for one in draws.at} for draws in (found.answers, found.chains))
    for k in sorted(answers.keys() | chains.keys()):
        cells = []
        for draws in (answers, chains):
            one = draws.get(k)
            cells += [formatting.number(one.best), formatting.share(one.passed)] if one else ["", ""]
        table.add_row(formatting.count(k), *cells)
    return table


def passes(found: "RunStatistics") -> str:
    """What pass@k counts."""
    if found.threshold is None:
        return "a fitness above the best seed's"
    whose = "run" if found.threshold_from == "budget" else "objective"
    return f"a fitness of {formatting.exact(found.threshold)} or better, the target of the {whose}"


def yields_table(noun: str, yields: "Sequence[Yield]") -> "Table":
    """What became of what was asked for; what is no answer, or none that can be used, beside it."""
    table = plain_table(
        f"{noun}~",
        "answers>",
        "unreadable>",
        "rejected>",
        "duplicates>",
        "evaluated>",
        "valid>",
        "improved>",
    )
    for one in yields:
        counts = (one.answers, one.dropped, one.rejected, one.duplicates, one.evaluations)
        table.add_row(
            plain(one.name),
            *(formatting.count(count) for count in counts),
            formatting.share(one.valid / one.evaluations if one.evaluations else None),
            formatting.count(one.improvements),
        )
    return table


def prices_table(noun: str, yields: "Sequence[Yield]") -> "Table":
    """What asking cost, by what it improved."""
    table = plain_table(f"{noun}~", "tokens>", "per gain>", "gains per million>", "cost>", "per gain>")
    for one in yields:
        table.add_row(
            plain(one.name),
            formatting.count(one.tokens),
            formatting.number(one.tokens_per_improvement, 4),
            formatting.number(one.improvements_per_million_tokens, 4),
            one.cost or "–",
            one.cost_per_improvement or "–",
        )
    return table


def _best(found: "RunStatistics") -> str:
    if found.best_fitness is None or found.best_at is None:
        return "–"
    return f"{formatting.exact(found.best_fitness)} after {formatting.plural(found.best_at, 'evaluation')}"


def _volume(found: "RunStatistics") -> str | None:
    if found.hypervolume is None:
        return None
    about = "" if found.hypervolume_exact else "about "
    return f"{about}{formatting.number(found.hypervolume)}, of a front of {formatting.count(found.front or 0)}"


def _covered(found: "RunStatistics") -> str | None:
    if found.cells is None:
        return None
    return f"{formatting.plural(found.cells, 'cell')} filled, {formatting.share(found.coverage)}"


def _drawn(value: float | None, sampled: int, whole: int, words: str = "between two") -> str | None:
    return None if value is None else f"{formatting.number(value, 4)} {words}{_of(sampled, whole)}"


def _of(sampled: int, whole: int) -> str:
    return f" ({formatting.count(sampled)} drawn from {formatting.count(whole)})" if sampled < whole else ""

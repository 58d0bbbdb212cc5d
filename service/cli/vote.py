"""What the candidates of a run answer, counted, in a terminal."""

from typing import TYPE_CHECKING

from service.cli import formatting
from service.cli.listing import MAX_ANSWER, plain_table
from service.cli.records import as_score, find_run, score_word
from service.cli.terminal import Terminal, plain
from service.projections.run_site import RunSite

if TYPE_CHECKING:
    from rich.table import Table

    from service.ports import RunRecord
    from service.schemas.votes import Rule, RunVotes

SURE = 0.95


def show_votes(terminal: Terminal, site: RunSite, run_id: str, rule: "Rule", min_share: float, limit: int) -> None:
    """Print the answers of a run with their votes, and which wins."""
    run = find_run(site.reader, run_id)
    found = site.votes(run, rule, min_share)
    if terminal.as_json:
        terminal.emit(found.model_dump(mode="json"))
        return
    if not found.votes:
        terminal.note(
            f"{run.id} has no answers to count: its evaluator must return `answer`, and a candidate must be evaluated"
        )
        return
    terminal.show(votes_table(run, found, limit), "", verdict_words(found))
    hidden = found.answers - min(limit, len(found.items))
    if hidden:
        terminal.note(f"{formatting.plural(hidden, 'more answer')}: show more with --limit N", style="dim")


def votes_table(run: "RunRecord", found: "RunVotes", limit: int) -> "Table":
    """A row an answer."""
    table = plain_table("votes>", "share>", "weight>", f"best {score_word(run)}>", "candidate", "answer~")
    for one in found.items[:limit]:
        table.add_row(
            formatting.count(one.votes),
            formatting.share(one.share),
            formatting.number(one.weight, 4),
            formatting.number(as_score(run, one.best_fitness)),
            formatting.short(one.best_candidate_id),
            plain(formatting.cut(one.answer, MAX_ANSWER)),
        )
    return table


def verdict_words(found: "RunVotes") -> str:
    """Which answer wins, and how sure that is."""
    rule = found.rule.replace("_", " ")
    if found.winner is None:
        return f"by {rule} no answer wins: none has {formatting.share(found.min_share)} of the votes and a fitness"
    told = f"by {rule} of {formatting.plural(found.votes, 'vote')}: {plain(found.winner.answer)}"
    if found.confidence is None:
        return told
    advice = "" if found.confidence >= SURE else ": more candidates may change it"
    return f"{told}\nthe most frequent answer with a probability of {formatting.share(found.confidence)}{advice}"

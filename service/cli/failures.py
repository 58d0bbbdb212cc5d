"""Why answers of a run came to nothing, in a few lines, and what helps."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from evolve.evaluation import Outcome
from service.cli import formatting
from service.cli.terminal import plain
from service.ports import CandidateRecord, RunRecord

if TYPE_CHECKING:
    from service.schemas.failures import FailureGroup, RunFailures

MAX_GROUPS, MAX_CHARACTERS = 5, 200
MAX_SEEDS, MAX_LINES = 3, 20
NEARLY_ALL = 0.9
EXHAUSTED, DUPLICATE, UNREADABLE = "exhausted", "duplicate", "unreadable"


def failure_rows(failures: "RunFailures | None") -> list[tuple[str, str]]:
    """A row with the most frequent failures, a line each; none where nothing failed."""
    # How many duplicates there were stands in a row of its own: there is no more to say of them.
    groups = [group for group in failures.items if group.outcome != DUPLICATE] if failures is not None else []
    if failures is None or not groups:
        return []
    shown = groups[:MAX_GROUPS]
    duplicates = sum(group.count for group in failures.items if group.outcome == DUPLICATE)
    rest = failures.count - duplicates - sum(group.count for group in shown)
    lines = [_line(group) for group in shown] + ([f"{formatting.count(rest)} for other reasons"] if rest else [])
    return [("failures", "\n".join(lines))]


def unreadable_words(failures: "RunFailures | None") -> str:
    """`, 40 unreadable` after the duplicates and rejected answers of a run, where completions held no answer."""
    groups = [] if failures is None else failures.items
    count = sum(group.count for group in groups if group.outcome == UNREADABLE)
    return f", {formatting.count(count)} unreadable" if count else ""


def failed_seeds(candidates: Iterable[CandidateRecord]) -> list[CandidateRecord]:
    """The seeds among the first candidates of a run that were evaluated without success."""
    return [one for one in candidates if one.proposal_number == 0 and one.outcome not in (None, Outcome.OK)]


def seed_rows(failed: Sequence[CandidateRecord]) -> list[tuple[str, str]]:
    """A row for each seed that failed: its reason, and the end of its traceback."""
    return [("failed seed", _seed_words(one)) for one in failed[:MAX_SEEDS]]


def _seed_words(seed: CandidateRecord) -> str:
    told = plain(seed.feedback or "").rstrip().splitlines()
    left_out = [f"… {len(told) - MAX_LINES} lines before"] if len(told) > MAX_LINES else []
    name = formatting.short(seed.id)
    return "\n".join([f"{name} {plain(seed.outcome or '')}: {plain(seed.reason)}", *left_out, *told[-MAX_LINES:]])


def failures_json(failures: "RunFailures | None") -> list[dict[str, Any]]:
    """The groups of failures as `run --json` and `show --json` give them, the most frequent first."""
    return [] if failures is None else [group.model_dump(mode="json") for group in failures.items]


def remark(run: RunRecord, failures: "RunFailures | None") -> str:
    """One line on the answers of an exhausted run where nearly none became a new program; else empty."""
    counters = run.counters
    if run.reason != EXHAUSTED or failures is None:
        return ""
    if not counters.answers:
        why = _first(failures, ("unanswered", UNREADABLE))
        return "No answer came" + (f": {_words(why)}" if why else ".")
    spoiled = counters.rejected + counters.duplicates
    if spoiled < NEARLY_ALL * counters.answers:
        return ""
    why = _first(failures, ("rejected", DUPLICATE))
    of_all = f"{formatting.count(spoiled)} of {formatting.count(counters.answers)}"
    often = f"; {formatting.plural(why.count, 'time')}: {_words(why)}" if why else ""
    return f"Nearly every answer was rejected or a duplicate ({of_all}){often}"


def _first(failures: "RunFailures", outcomes: Sequence[str]) -> "FailureGroup | None":
    return next((group for group in failures.items if group.outcome in outcomes), None)


def _line(group: "FailureGroup") -> str:
    share = group.seconds_share
    time = f", {formatting.share(share)} of the time" if share is not None and share >= 0.01 else ""
    told = f": {_words(group)}" if group.reason else ""
    return f"{formatting.count(group.count)} {plain(group.outcome)}{time}{told}"


def _words(group: "FailureGroup") -> str:
    words = plain(group.reason)
    return words if len(words) <= MAX_CHARACTERS else f"{words[: MAX_CHARACTERS - 1]}…"

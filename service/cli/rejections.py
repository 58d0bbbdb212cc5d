"""Why a run that found nothing new any more found nothing: what became of its answers."""

from collections import Counter

from service.cli import figures
from service.errors import NotFoundError
from service.ports import ResultReader, RunRecord
from service.projections.candidates import every_candidate

NEARLY_ALL = 0.9
EXHAUSTED = "exhausted"
REPEATED = "the same program as an earlier candidate"


def rejections(reader: ResultReader, run: RunRecord) -> str:
    """One line on the answers of an exhausted run where nearly none became a new program; else empty."""
    counters = run.counters
    if run.reason != EXHAUSTED:
        return ""
    if not counters.answers:
        return f"No answer came{_last_word(reader, run)}."
    spoiled = counters.rejected + counters.duplicates
    if spoiled < NEARLY_ALL * counters.answers:
        return ""
    reasons = [
        REPEATED if candidate.status == "duplicate" else " ".join(candidate.reason.split())
        for candidate in every_candidate(reader, run.id)
        if candidate.status in ("duplicate", "rejected")
    ]
    # What stands behind a colon is about the one program.
    kinds = Counter(reason.partition(":")[0] for reason in reasons)
    kind, times = kinds.most_common(1)[0]
    reason = next(reason for reason in reasons if reason.partition(":")[0] == kind)
    of_all = f"{figures.count(spoiled)} of {figures.count(counters.answers)}"
    often = figures.plural(times, "time")
    return f"Nearly every answer was rejected or a duplicate ({of_all}); {often}: {reason}"


def _last_word(reader: ResultReader, run: RunRecord) -> str:
    """What the last proposal met."""
    try:
        last = reader.proposal(run.id, run.counters.proposals)
    except NotFoundError:
        return ""
    reason = last.reason or next((str(dropped.get("reason", "")) for dropped in last.dropped), "")
    return f"; of the last proposal: {reason.rstrip('.')}" if reason else ""

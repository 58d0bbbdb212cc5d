"""What became of the completions of a run: why they ended, what was dropped, and what helps."""

from collections import Counter

from service.cli import figures
from service.cli.terminal import plain
from service.errors import NotFoundError
from service.ports import ProposalRecord, ResultReader, RunRecord

MAX_PROPOSALS, MAX_REASONS = 100, 3
LENGTH, LENGTH_ADVICE = "length", "a larger max_tokens, or fewer answers a chain, help"


def completion_rows(reader: ResultReader, run: RunRecord) -> list[tuple[str, str]]:
    """Rows on the completions of the last proposals of a run; none where no model wrote."""
    if all(policy.get("kind") == "syntax" for policy in run.policies):
        return []
    first = max(1, run.counters.proposals - MAX_PROPOSALS + 1)
    known = [found for number in range(first, run.counters.proposals + 1) if (found := _proposal(reader, run, number))]
    endings = Counter(reason for proposal in known for reason in proposal.finish_reasons)
    dropped = Counter(str(entry.get("reason", "")) for proposal in known for entry in proposal.dropped)
    return [
        *([("completions", _endings(endings))] if endings else []),
        *([("dropped", plain(f"{figures.count(dropped.total())}: {_most(dropped)}"))] if dropped else []),
    ]


def _proposal(reader: ResultReader, run: RunRecord, number: int) -> ProposalRecord | None:
    try:
        return reader.proposal(run.id, number)
    except NotFoundError:
        return None


def _endings(endings: Counter[str]) -> str:
    shares = [f"{reason or 'not said'} {figures.share(n / endings.total())}" for reason, n in endings.most_common(3)]
    advice = f" ({LENGTH_ADVICE})" if endings[LENGTH] else ""
    return plain(f"{', '.join(shares)}{advice}")


def _most(reasons: Counter[str]) -> str:
    return "; ".join(f"{count} {reason}" for reason, count in reasons.most_common(MAX_REASONS))

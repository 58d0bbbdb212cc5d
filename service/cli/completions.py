"""How the completions of a run ended, and what helps."""

from collections import Counter

from service.cli import formatting
from service.cli.terminal import plain
from service.errors import NotFoundError
from service.policy_settings.kind_traits import WITHOUT_MODEL
from service.ports import ProposalRecord, ResultReader, RunRecord
from service.projections.end_reasons import length_advice

MAX_PROPOSALS = 100


def completion_rows(reader: ResultReader, run: RunRecord) -> list[tuple[str, str]]:
    """A row on the completions of the last proposals of a run; none where no model wrote."""
    if all(policy.get("kind") in WITHOUT_MODEL for policy in run.policies):
        return []
    first = max(1, run.counters.proposals - MAX_PROPOSALS + 1)
    known = [found for number in range(first, run.counters.proposals + 1) if (found := _proposal(reader, run, number))]
    endings = Counter(reason for proposal in known for reason in proposal.finish_reasons)
    return [("completions", _endings(endings))] if endings else []


def _proposal(reader: ResultReader, run: RunRecord, number: int) -> ProposalRecord | None:
    try:
        return reader.proposal(run.id, number)
    except NotFoundError:
        return None


def _endings(endings: Counter[str]) -> str:
    shares = [f"{reason or 'not said'} {formatting.share(n / endings.total())}" for reason, n in endings.most_common(3)]
    advice = length_advice(endings)
    return plain(", ".join(shares) + (f" ({advice})" if advice else ""))

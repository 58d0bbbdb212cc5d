"""Closing: what is under way when a run ends is let go, each with its own event."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from evolve.evaluation import Evaluation, Outcome
from evolve.events import Event
from evolve.money import FREE
from evolve.payloads import describe_failure, describe_outcome
from evolve.proposal import Candidate, Charge, CompletedReply, Individual

NOTHING_CUT: Mapping[int, CompletedReply] = MappingProxyType({})
ENDED = "the run ended before an answer came"
_UNSCORED = Evaluation(outcome=Outcome.CANCELLED, reason="the run ended before it was evaluated")


def let_go(
    numbers: Iterable[int],
    candidates: Iterable[Candidate],
    cut: Mapping[int, CompletedReply] = NOTHING_CUT,
    owed: Iterable[Charge] = (),
) -> list[Event]:
    """Events that close what is under way.

    Args:
        numbers: of the proposals that await their policy.
        candidates: those that await their evaluation.
        cut: what the policy had written of those proposals by then, and what that took, by number.
        owed: what the analyst took and no completion has paid: the first that is cut off pays it, or where none was
            written the first proposal.
    """
    numbers = sorted(numbers)
    charges = tuple(owed)
    if charges and numbers:
        payer = next((number for number in numbers if number in cut), numbers[0])
        paid = cut.get(payer) or CompletedReply(completions=(), cost=FREE, attempts=0)
        cut = {**cut, payer: replace(paid, charges=(*paid.charges, *charges))}
    events = [Event(describe_failure(number, ENDED, cut.get(number)), cut.get(number)) for number in numbers]
    for candidate in sorted(candidates, key=lambda candidate: (candidate.proposal_number, candidate.position)):
        individual = Individual(candidate_id=candidate.id, program=candidate.program, evaluation=_UNSCORED, measures={})
        events.append(Event(describe_outcome(individual), individual))
    return events

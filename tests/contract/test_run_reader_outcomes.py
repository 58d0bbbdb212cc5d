"""What every RunReader counts of how answers ended: the same as reading every candidate and proposal."""

from collections import Counter, defaultdict
from typing import Any

import pytest

from evolve.evaluation import Outcome
from evolve.events import EventKind
from evolve.identity import proposal_id
from service.errors import NotFoundError
from service.ports import OutcomeCount, RunLog, RunReader
from service.projections.candidates import every_candidate
from tests.contract.story import RUN, Story
from tests.contract.test_run_log import begin

REASONS = ("ValueError: 3 is no radius", "ValueError: 4 is no radius", "it ran longer than 20 seconds", "ä" * 400)


def tell(log: RunLog, story: Story) -> None:
    """Two valid programs, failures for four reasons, a duplicate, a rejected answer and a refused proposal."""
    fence = begin(log, story)
    ends = [(Outcome.OK, ""), *((Outcome.ERROR, reason) for reason in (*REASONS, REASONS[0]))]
    for number, (outcome, reason) in enumerate(ends, start=1):
        fitness = 2.0 if outcome == Outcome.OK else None
        log.append(RUN, fence, story.child(number, story.id(0), fitness, outcome=outcome, reason=reason))
    log.append(RUN, fence, [story.propose(7, story.id(0)), story.create(7)])
    log.append(RUN, fence, [story.tell(EventKind.CANDIDATE_DUPLICATE, candidate_id=story.id(7), of=story.id(1))])
    log.append(RUN, fence, [story.propose(8, story.id(0))])
    rejected: dict[str, Any] = {
        "proposal_number": 8,
        "position": 0,
        "island": 0,
        "candidate_id": story.id(8),
        "reason": "a syntax error",
    }
    log.append(RUN, fence, [story.tell(EventKind.CANDIDATE_REJECTED, **rejected)])
    log.append(RUN, fence, [story.propose(9, story.id(0))])
    log.append(
        RUN, fence, [story.tell(EventKind.PROPOSAL_FAILED, proposal_number=9, reason="401: the key is not valid")]
    )


def test_outcomes_are_those_of_every_candidate_counted(log: RunLog, reader: RunReader, story: Story) -> None:
    tell(log, story)
    found = reader.outcomes(RUN)
    ends = Counter[tuple[str, str]]()
    seconds: defaultdict[tuple[str, str], float] = defaultdict(float)
    for candidate in every_candidate(reader, RUN):
        told = "" if candidate.status == "duplicate" else candidate.reason  # which names the other one
        key = (candidate.outcome or candidate.status, told[:300])
        ends[key] += 1
        seconds[key] += candidate.seconds or 0
    ends["unreadable", "the last answer was cut off"] += 6
    ends["unanswered", "401: the key is not valid"] += 1
    assert {(one.outcome, one.reason): one.times for one in found} == ends
    assert {(one.outcome, one.reason): one.seconds for one in found if one.seconds} == {
        key: spent for key, spent in seconds.items() if spent
    }
    assert [one.times for one in found] == sorted((one.times for one in found), reverse=True)


def test_an_evaluation_that_was_cancelled_is_no_end(log: RunLog, reader: RunReader, story: Story) -> None:
    fence = begin(log, story)
    log.append(RUN, fence, story.child(1, story.id(0), None, outcome=Outcome.CANCELLED, reason="the run was paused"))
    assert {one.outcome for one in reader.outcomes(RUN)} == {"ok", "unreadable"}


def test_a_run_without_answers_has_its_seed_alone(log: RunLog, reader: RunReader, story: Story) -> None:
    begin(log, story)
    assert reader.outcomes(RUN) == [OutcomeCount("ok", "", 1, 0.25)]


def test_a_proposal_is_found_by_its_id_or_the_beginning_of_it(log: RunLog, reader: RunReader, story: Story) -> None:
    tell(log, story)
    whole = proposal_id(RUN, 2)
    assert reader.proposal_named(whole) == reader.proposal_named(whole[:20]) == reader.proposal(RUN, 2)
    with pytest.raises(NotFoundError, match="there is no proposal prp_ffffffffff: 'evolve show CANDIDATE' names"):
        reader.proposal_named("prp_ffffffffff")

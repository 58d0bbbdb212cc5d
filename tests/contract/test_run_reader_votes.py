"""What every RunReader counts as votes: the same as `evolve.statistics.voting` counts candidate by candidate."""

from dataclasses import replace

import numpy as np
import pytest

from evolve.events import EventKind
from evolve.statistics.voting import RULES, Ballot, VoteCount, VoteTable, count, decide
from service.db import votes
from service.db.engine import Database
from service.ports import RunLog, RunReader
from tests.contract.story import RUN, Story
from tests.contract.test_run_log import begin

ANSWERS = ("42", "Paris", "[1,2]", "\x00\ud800", "ä", "a", "A")


def told(log: RunLog, story: Story, candidates: int = 60) -> VoteTable:
    """A run with answers, failures, repeated programs and candidates without an answer; its votes, one by one."""
    rng = np.random.default_rng(7)
    fence = begin(log, story)  # a seed without an answer
    ballots: list[Ballot] = []
    for number in range(1, candidates + 1):
        events = [story.propose(number, story.id(0)), story.create(number)]
        kind = rng.integers(5)
        own = story.id(number)
        if kind == 0 and ballots:
            first = ballots[rng.integers(len(ballots))]
            events.append(story.tell(EventKind.CANDIDATE_DUPLICATE, candidate_id=own, of=first.candidate_id))
            ballots.append(first)
        elif kind == 1:
            events.append(story.evaluate(own, float(rng.integers(9))))
        else:
            fitness = None if kind == 2 else float(rng.integers(9)) / 8
            answer = ANSWERS[rng.integers(len(ANSWERS))]
            events.append(story.evaluate(own, fitness, answer=answer))
            ballots.append(Ballot(answer=answer, fitness=fitness, candidate_id=own, age=(number, 0)))
        log.append(RUN, fence, events)
    return count(ballots)


def rounded(poll: VoteTable) -> list[VoteCount]:
    tallies = [replace(tally, weight=round(tally.weight, 9)) for tally in poll.tallies]
    return sorted(tallies, key=lambda tally: tally.answer)


def test_votes_are_those_of_every_candidate_counted(log: RunLog, reader: RunReader, story: Story) -> None:
    expected = told(log, story)
    found = reader.poll(RUN)
    assert (found.votes, found.answers) == (expected.votes, expected.answers)
    assert rounded(found) == rounded(expected)


def test_a_run_without_answers_has_no_votes(log: RunLog, reader: RunReader, story: Story) -> None:
    begin(log, story)
    assert reader.poll(RUN) == VoteTable(tallies=[], votes=0, answers=0)


def test_a_candidate_that_is_evaluated_again_votes_once(log: RunLog, reader: RunReader, story: Story) -> None:
    fence = begin(log, story)
    log.append(RUN, fence, [story.propose(1, story.id(0)), story.create(1)])
    log.append(RUN, fence, [story.evaluate(story.id(1), 1.0, answer="a")])
    again = story.individual(story.id(1), 2.0, answer="b")
    log.append(RUN, fence, [story.reevaluate(again, 2)])
    assert [(tally.answer, tally.votes, tally.fitness) for tally in reader.poll(RUN).tallies] == [("a", 1, 1.0)]


@pytest.mark.parametrize("rule", sorted(RULES))
def test_the_first_places_of_no_rule_are_cut_off(
    log: RunLog, reader: RunReader, database: Database, story: Story, rule: str
) -> None:
    told(log, story)
    whole = reader.poll(RUN)
    with database.read() as connection:
        cut = votes.poll(connection, RUN, maximum=2)
    assert (cut.votes, cut.answers, len(cut.tallies) < len(whole.tallies)) == (whole.votes, whole.answers, True)
    assert decide(cut, rule, 0.0).ranking[:2] == decide(whole, rule, 0.0).ranking[:2]


def test_an_answer_stands_with_its_candidate_and_its_evaluation(log: RunLog, reader: RunReader, story: Story) -> None:
    fence = begin(log, story)
    log.append(RUN, fence, [story.propose(1, story.id(0)), story.create(1)])
    log.append(RUN, fence, [story.evaluate(story.id(1), 1.0, answer="Paris")])
    assert reader.candidate(story.id(1)).answer == "Paris"
    assert [one.answer for one in reader.evaluations(story.id(1))] == ["Paris"]
    (individual,) = log.individuals(RUN, [story.id(1)])
    assert individual.evaluation.answer == "Paris"
    assert reader.candidate(story.id(0)).answer is None

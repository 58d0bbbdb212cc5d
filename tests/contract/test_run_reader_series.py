"""Events of a kind, scored candidates and attempts of every RunReader: in order, and each once."""

import pytest

from evolve.events import EventKind
from service.db import series
from service.ports import LoggedEvent, RunLog, RunReader, ScoredCandidate
from tests.contract.story import RUN, Story, new_run
from tests.contract.test_run_log import begin


@pytest.fixture(params=[1, 2, 3, 500])
def portion(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many rows are read at a time."""
    monkeypatch.setattr(series, "_CHUNK", request.param)
    monkeypatch.setattr(series, "_LINES", request.param)
    size: int = request.param
    return size


def again(story: Story, number: int, fitness: float) -> LoggedEvent:
    """A candidate is evaluated a second time."""
    candidate = story.id(number)
    individual = story.individual(candidate, fitness)
    return story.tell(
        EventKind.CANDIDATE_EVALUATED, individual, candidate_id=candidate, outcome="ok", fitness=fitness, scores={},
        measures={}, seconds=0.25, attempt=2,
    )  # fmt: skip


@pytest.mark.usefixtures("portion")
class TestEvents:
    def test_a_kind_is_read_alone_and_in_order(self, log: RunLog, reader: RunReader, story: Story) -> None:
        fence = begin(log, story)
        for number in range(1, 6):
            log.append(RUN, fence, story.child(number, story.id(0)))
        every = list(reader.events(RUN))
        assert [logged.sequence for logged in every] == list(range(1, story.sequence + 1))
        for kinds in (["candidate.evaluated"], ["best.improved", "proposal.created"], ["run.paused"], ["no.kind"]):
            expected = [logged for logged in every if logged.event.kind in kinds]
            assert list(reader.events(RUN, kinds=kinds)) == expected
            assert (
                list(reader.events(RUN, after=8, limit=3, kinds=kinds))
                == [logged for logged in expected if logged.sequence > 8][:3]
            )

    def test_a_limit_holds_without_kinds_too(self, log: RunLog, reader: RunReader, story: Story) -> None:
        begin(log, story)
        assert [logged.sequence for logged in reader.events(RUN[:12], after=1, limit=4)] == [2, 3, 4, 5]
        assert list(reader.events(RUN, limit=0)) == []


@pytest.mark.usefixtures("portion")
class TestScored:
    def test_candidates_come_in_the_order_in_which_they_were_scored(
        self, log: RunLog, reader: RunReader, story: Story
    ) -> None:
        fence = begin(log, story)
        log.append(RUN, fence, [story.propose(1, story.id(0), island=0)])
        log.append(RUN, fence, [story.create(1), story.create(1, 1), story.create(2), story.create(3)])
        told = [
            story.evaluate(story.id(2), None),
            story.evaluate(story.id(1, 1), 4.0),
            story.evaluate(story.id(1), 3.0),
        ]
        log.append(RUN, fence, told)
        found = list(reader.scored(RUN))
        places = [(line.proposal_number, line.position, line.fitness) for line in found]
        assert places == [(0, 0, 1.0), (2, 0, None), (1, 1, 4.0), (1, 0, 3.0)]
        assert found[2] == ScoredCandidate(
            sequence=told[1].sequence, candidate_id=story.id(1, 1), proposal_number=1, position=1, island=0,
            parent_id=None, operator="mutate", policy="syntax", outcome="ok", fitness=4.0, rewards=[4.0],
            scores={"sum_radii": 4.0},
            grid_measures={"depth": 3.0, "complexity": 12.0}, seconds=0.25, at=told[1].at,
        )  # fmt: skip
        assert (found[0].operator, found[0].policy, found[1].outcome, found[1].rewards) == ("seed", "", "timeout", None)

    def test_the_first_parent_is_the_first_that_is_no_inspiration(
        self, log: RunLog, reader: RunReader, story: Story
    ) -> None:
        fence = begin(log, story)
        log.append(RUN, fence, story.child(1, story.id(0)))
        edges = {
            2: [(story.id(1), "inspiration"), (story.id(0), "crossover"), (story.id(1), "parent")],
            3: [(story.id(0), "inspiration")],
            4: [(story.id(1), "parent"), (story.id(0), "inspiration")],
        }
        for number, parents in edges.items():
            log.append(RUN, fence, [story.create(number, parents=parents), story.evaluate(story.id(number))])
        found = [line.parent_id for line in reader.scored(RUN)]
        assert found == [None, story.id(0), story.id(0), None, story.id(1)]

    @pytest.mark.parametrize("repeated", [False, True])
    def test_reading_goes_on_from_every_place(
        self, log: RunLog, reader: RunReader, story: Story, repeated: bool
    ) -> None:
        fence = begin(log, story)
        for number in (1, 2):
            log.append(RUN, fence, story.child(number, story.id(0), float(number)))
        if repeated:
            log.append(RUN, fence, [again(story, 1, 7.0)])
        for number in (3, 4):
            log.append(RUN, fence, story.child(number, story.id(0), float(number)))
        every = list(reader.scored(RUN))
        assert [line.proposal_number for line in every] == list(range(5))
        # Evaluated again, it keeps its place and shows its latest result.
        assert every[1].fitness == (7.0 if repeated else 1.0)
        for after in range(story.sequence + 1):
            assert list(reader.scored(RUN, after)) == [line for line in every if line.sequence > after]

    def test_a_run_without_scores_has_none(self, log: RunLog, reader: RunReader) -> None:
        log.create(new_run())
        assert list(reader.scored(RUN)) == list(reader.scored(RUN, 5)) == []


def test_all_attempts_are_kept_the_first_one_first(log: RunLog, reader: RunReader, story: Story) -> None:
    fence = begin(log, story)
    log.append(RUN, fence, story.child(1, story.id(0), 2.0))
    repeated = again(story, 1, 5.0)
    log.append(RUN, fence, [repeated])
    first, second = reader.evaluations(story.id(1)[:12])
    assert (first.attempt, first.scores, first.worker) == (1, {"sum_radii": 2.0}, "worker-1")
    assert (second.attempt, second.scores, second.at) == (2, {"sum_radii": 5.0}, repeated.at)
    assert first.measures == {"depth": 3.0, "complexity": 12.0}
    assert reader.candidate(story.id(1)).fitness == 5.0
    log.append(RUN, fence, [story.propose(2, story.id(0)), story.create(2)])
    assert reader.evaluations(story.id(2)) == []


def test_runs_are_followed_by_their_sequences(log: RunLog, reader: RunReader, story: Story) -> None:
    begin(log, story)
    log.create(new_run("run_b"))
    log.create(new_run("run_c"))
    other = Story("run_c")
    fence = log.take("run_c", "runner-1", 60)
    log.append("run_c", fence, [other.tell(EventKind.RUN_STARTED), other.tell(EventKind.RUN_CANCELLED, by="me")])
    asked = [RUN, "run_b", "run_c", "run_gone", RUN, "\x00"]
    assert reader.sequences(asked) == {
        RUN: (story.sequence, "running"),
        "run_b": (1, "queued"),
        "run_c": (3, "cancelled"),
    }
    assert reader.active() == {RUN: story.sequence, "run_b": 1}

"""Versions of a policy that a run trains: when an update is due, which versions are asked, and that replay agrees."""

from dataclasses import replace
from itertools import pairwise

import pytest

from evolve.change_events import PolicyUpdated, RequestedChange
from evolve.configuration import LearningConfig, RunConfig
from evolve.credit.policy_credit import PolicyCredit
from evolve.errors import ConfigurationError
from evolve.event_types import ProposalCreated
from evolve.identity import update_id
from evolve.program import Program
from evolve.proposal import Candidate
from evolve.search.deterministic_schedule import DeterministicSchedule
from evolve.search.ensemble import Ensemble, PolicyRequest
from evolve.search.learning import Learning
from evolve.search.search import Search, SearchStep
from service.problems.configuration import read_config
from tests.fakes.world import ASKING, World, new_search, resume, toy_problem

EVERY = 5


def updated(number: int, *, answered: int, policy: str = "", through: int = 0) -> PolicyUpdated:
    return PolicyUpdated(
        change_id=update_id("run_toy", number),
        by="",
        number=number,
        policy=policy,
        start="toy",
        base="toy",
        answered=answered,
        through=through,
        seconds=1.0,
        reason="" if policy else "it failed",
    )


class LearningWorld(World):
    """A world whose updates come as soon as they are due; every second fails."""

    def play(self, search: Search | DeterministicSchedule, begin: SearchStep) -> str | None:
        self._search = search
        return super().play(search, begin)

    def _send(self, search: Search | DeterministicSchedule, step: SearchStep) -> None:
        super()._send(search, step)
        learning = search.state.changes.learning
        state = search.state
        while (due := learning.next(state.asked, state.open, state.pending)) is not None:
            name = f"toy-run@{due.number}" if due.number % 2 else ""
            data = updated(due.number, answered=due.answered, policy=name, through=due.through)
            super()._send(search, search.change(RequestedChange(data=data)))


def configured(**values: object) -> RunConfig:
    short = {"budget.evaluations": 150, "learning.every": EVERY, "learning.updates": 6, "islands": 2}
    return read_config([("the test", {**short, "concurrency.policy": 4, **values})])


def test_versions_are_asked_beside_the_policy_of_the_start() -> None:
    world = LearningWorld(toy_problem())
    search = new_search(world.problem, configured())
    assert world.play(search, search.start()) == "evaluations"
    asked = {event.data.policy for event in world.log if isinstance(event.data, ProposalCreated)}
    learning = search.state.changes.learning
    assert [update.number for update in learning.updates] == [1, 2, 3, 4, 5, 6]
    assert {"toy", "toy-run@1", "toy-run@3", "toy-run@5"} == asked
    assert [update.policy for update in learning.asked] == ["toy-run@3", "toy-run@5"]


def test_a_retired_version_gets_no_further_proposals() -> None:
    world = LearningWorld(toy_problem())
    search = new_search(world.problem, configured(**{"learning.versions": 1}))
    world.play(search, search.start())
    places = {"toy-run@1": 0, "toy-run@3": 0}
    for place, event in enumerate(world.log):
        if isinstance(event.data, PolicyUpdated) and event.data.policy in places:
            places[event.data.policy] = place
        if isinstance(event.data, ProposalCreated) and event.data.policy == "toy-run@1":
            assert not places["toy-run@3"]


@pytest.mark.parametrize("window", [0, 3])
def test_replay_from_any_commit_gives_the_same_learning_and_the_same_draws(window: int) -> None:
    config = configured(**{"deterministic.window": window})
    world = LearningWorld(toy_problem())
    search = new_search(world.problem, config)
    world.play(search, search.start())
    for cut in world.boundaries[:: max(1, len(world.boundaries) // 12)]:
        again = new_search(world.problem, config)
        resume(world, again, world.log[:cut])
        before = [event.data for event in world.log[:cut] if isinstance(event.data, PolicyUpdated)]
        assert again.state.changes.learning.updates == before
    whole = new_search(world.problem, config)
    resume(world, whole, world.log)
    assert whole.state.changes.learning.answered == search.state.changes.learning.answered


def test_in_a_fixed_order_nothing_goes_on_while_an_update_is_due() -> None:
    world = World(toy_problem())
    search = new_search(world.problem, configured(**{"deterministic.window": 3}))
    with pytest.raises(AssertionError, match="waits for nothing"):
        world.play(search, search.start())
    assert search.state.changes.learning.due
    assert search.state.changes.learning.answered == EVERY


@pytest.mark.parametrize(("after", "due"), [(0, [5, 10, 15]), (12, [12, 17, 22])])
def test_an_update_is_due_after_so_many_answers(after: int, due: list[int]) -> None:
    learning = Learning(LearningConfig(every=5, after=after, updates=3))
    found = []
    for answered in range(40):
        if learning.due:
            found.append(answered)
            learning.update(updated(len(found), answered=answered))
        learning.answer(answered + 1)
    assert found == due


def test_the_batch_ends_before_what_is_unfinished() -> None:
    learning = Learning(LearningConfig(every=5))
    for number in (*range(1, 14), 15, 16, 18, 19, 20):
        learning.answer(number)
    learning.update(updated(1, answered=5, policy="toy-run@1", through=4))
    due = learning.next(20, [14, 17], {})
    assert due is not None
    assert (due.after, due.through, due.newest, due.number) == (4, 13, "toy-run@1", 2)
    whole = learning.next(20, [], {})
    assert whole is not None
    assert whole.through == 20


def test_an_update_waits_until_something_that_it_learns_from_is_finished() -> None:
    learning = Learning(LearningConfig(every=2))
    for number in (2, 3):
        learning.answer(number)
    candidate = Candidate(
        id="cnd_2",
        proposal_number=2,
        position=0,
        island=0,
        program=Program.of({"program.py": "pass\n"}),
        fingerprint="two",
    )
    assert learning.due
    assert learning.next(4, [1, 4], {}) is None  # the first proposal is open, so the batch would have no answers
    assert learning.next(4, [4], {candidate.id: candidate}) is None  # a child of the second is not evaluated
    due = learning.next(4, [4], {})
    assert due is not None
    assert (due.after, due.through) == (0, 3)
    learning.update(updated(1, answered=2, through=3))
    for number in (5, 6):
        learning.answer(number)
    assert learning.next(7, [4, 7], {}) is None


@pytest.mark.parametrize("window", [0, 2, 5])
def test_no_update_of_a_run_has_an_empty_batch(window: int) -> None:
    world = LearningWorld(toy_problem())
    search = new_search(world.problem, configured(**{"deterministic.window": window, "learning.every": 1}))
    assert world.play(search, search.start()) == "evaluations"
    batches = [(0, 0), *((update.answered, update.through) for update in search.state.changes.learning.updates)]
    assert len(batches) == 7
    assert all(later[1] > earlier[1] for earlier, later in pairwise(batches))


def test_k_is_annealed() -> None:
    config = LearningConfig(objective="pkpo", k=8, last_k=2, updates=4)
    assert [config.k_of(number) for number in range(1, 5)] == [8, 6, 4, 2]
    assert replace(config, updates=1).k_of(1) == 8


def test_a_person_can_set_the_weight_of_a_version_to_zero() -> None:
    learning, changed = Learning(LearningConfig(every=5)), {"toy-run@1": 0.0}
    learning.updates.append(updated(1, answered=5, policy="toy-run@1"))
    config = RunConfig(learning=LearningConfig(every=5))
    ensemble = Ensemble([PolicyRequest(policy="toy")], config, PolicyCredit(), changed, learning)
    assert ensemble.weights == {"toy": 1.0, "toy-run@1": 0.0}
    drawn = [ensemble.draw(number) for number in range(20)]
    assert {one.policy_request.policy for one in drawn if one} == {"toy"}
    assert ASKING.policy == "toy"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("every", -1),
        ("updates", 0),
        ("versions", 9),
        ("objective", "grpo"),
        ("k", 0),
        ("rate", 0.0),
        ("divergence", -1.0),
    ],
)
def test_values_out_of_range_are_refused_by_name(key: str, value: object) -> None:
    with pytest.raises(ConfigurationError, match=rf"learning\.{key}"):
        read_config([("the test", {f"learning.{key}": value})])

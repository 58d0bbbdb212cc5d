"""Tuning sessions: which program is tuned, what its optimizer is told, and that both follow from the events."""

from dataclasses import replace

import numpy as np
import pytest

from evolve.configuration import BudgetConfig, RunConfig
from evolve.credit.operators import TUNE
from evolve.event_types import CandidateEvaluated, ProposalCreated
from evolve.proposal import Proposal
from evolve.search.ensemble import PolicyRequest
from evolve.search.search import Search
from evolve.search.tuning import PATIENCE
from tests.fakes.world import TUNED, World, new_search, resume, toy_problem

CONFIG = RunConfig(budget=BudgetConfig(evaluations=60), islands=2, seed=3)


def played(config: RunConfig = CONFIG, seed: int = 0) -> World:
    rng = np.random.default_rng(seed)
    world = World(toy_problem(), choose=lambda count: int(rng.integers(count)))
    search = new_search(world.problem, config, TUNED)
    world.play(search, search.start())
    return world


def tuned(world: World) -> list[ProposalCreated]:
    return [event.data for event in world.log if isinstance(event.data, ProposalCreated) and event.data.tuning]


def test_a_tuner_gets_the_best_member_and_goes_on_from_the_best_of_its_session() -> None:
    world = played()
    proposals = tuned(world)
    assert len(proposals) > 3
    assert all(created.policy == "tuner" and created.operator == TUNE for created in proposals)
    sessions = {created.tuning for created in proposals}
    assert all(any(created.proposal_number == number for created in proposals) for number in sessions)
    further = [created for created in proposals if created.tuning != created.proposal_number]
    assert further
    fitness = {
        event.data.candidate_id: event.data.fitness for event in world.log if isinstance(event.data, CandidateEvaluated)
    }
    for created in further:
        parent, *others = [candidate for candidate, _ in created.parents]
        assert all((fitness[parent] or 0.0) >= (fitness[base] or 0.0) for base in others)


@pytest.mark.parametrize("seed", range(4))
def test_a_resumed_run_puts_an_open_proposal_to_the_tuner_with_the_same_record(seed: int) -> None:
    world = played(seed=seed)
    asked = {event.subject.number: event.subject for event in world.log if isinstance(event.subject, Proposal)}
    checked = 0
    for boundary in world.boundaries[::4]:
        search = new_search(world.problem, CONFIG, TUNED)
        assert isinstance(search, Search)
        for proposal in resume(world, search, world.log[:boundary]).proposals:
            assert proposal.tuning == asked[proposal.number].tuning
            checked += proposal.tuning is not None
    assert checked


def test_a_session_has_one_proposal_at_a_time_and_ends_after_generations_without_a_gain() -> None:
    search = played_search()
    sessions = search.state.tuning.by_number.values()
    assert sessions
    assert all(session.since_best <= PATIENCE for session in sessions)
    assert all(session.current is None for session in sessions)
    assert any(session.generations for session in sessions)


def played_search() -> Search:
    world = World(toy_problem())
    search = new_search(world.problem, replace(CONFIG, budget=BudgetConfig(evaluations=200)), TUNED)
    assert isinstance(search, Search)
    world.play(search, search.start())
    return search


def test_a_refusal_ends_the_session() -> None:
    world = World(toy_problem())
    search = new_search(world.problem, CONFIG, (PolicyRequest(policy="tuner", answers=4, tunes=True),))
    assert isinstance(search, Search)
    (seed,) = search.start().candidates
    world._score(search, seed)
    (first,) = search.ask().proposals
    assert first.tuning is not None
    assert (first.tuning.session, first.parent.candidate_id) == (first.number, seed.id)
    search.fail(first.number, "found no number")
    (second,) = search.ask().proposals
    assert second.tuning is not None
    assert second.tuning.session == second.number  # the only program again, by another optimizer

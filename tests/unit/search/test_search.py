"""The search: budgets are exact, nothing is evaluated twice, baselines share the accounts, a replay goes on."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from evolve.configuration import BudgetConfig, DeterministicConfig, NoveltyConfig, RunConfig
from evolve.errors import ReplayError
from evolve.evaluation import Evaluation, Outcome
from evolve.event_types import IndividualInserted
from evolve.events import Event, EventKind
from evolve.problem import Problem
from evolve.proposal import Answer, CompletedReply
from evolve.search.search import Search
from tests.fakes.world import ASKING, World, answers, new_search, resume, score, toy_problem


def run(config: RunConfig, **problem: object) -> tuple[Search, World, str | None]:
    toy = toy_problem(**problem)  # type: ignore[arg-type]  # keyword arguments of the fixture function
    search = new_search(toy, config)
    assert isinstance(search, Search)
    world = World(toy)
    return search, world, world.play(search, search.start())


@pytest.mark.parametrize("strategy", ["islands", "best_of_n", "sequential"])
def test_the_evaluation_budget_is_spent_exactly(strategy: str) -> None:
    search, world, reason = run(RunConfig(strategy=strategy, budget=BudgetConfig(evaluations=77)))
    assert reason == "evaluations"
    assert len(world.evaluated) == 77
    assert search.state.account.evaluations == 77
    assert not search.state.pending
    assert not search.state.open


def test_the_answer_budget_is_spent_exactly_and_every_candidate_of_it_is_evaluated() -> None:
    search, _, reason = run(RunConfig(budget=BudgetConfig(evaluations=None, answers=50)))
    assert reason == "answers"
    assert search.state.account.answers == 50
    assert not search.state.pending


def test_no_program_is_evaluated_twice() -> None:
    _, world, _ = run(RunConfig(budget=BudgetConfig(evaluations=150)))
    programs = Counter(world.candidates[i].program.id for i in world.evaluated)
    assert max(programs.values()) == 1
    assert any(event.kind is EventKind.CANDIDATE_DUPLICATE for event in world.log)


def test_every_answer_is_a_candidate_a_duplicate_or_rejected_with_a_reason() -> None:
    search, world, _ = run(RunConfig(budget=BudgetConfig(evaluations=120)))
    kinds = Counter(event.kind for event in world.log)
    seeds = 1
    assert (
        search.state.account.answers == kinds[EventKind.CANDIDATE_CREATED] - seeds + kinds[EventKind.CANDIDATE_REJECTED]
    )
    rejected = [event for event in world.log if event.kind is EventKind.CANDIDATE_REJECTED]
    assert rejected
    assert all(event.payload["reason"] for event in rejected)


def test_the_best_never_gets_worse_and_evolution_approaches_the_optimum() -> None:
    _, world, _ = run(RunConfig(budget=BudgetConfig(evaluations=300)))
    bests = [event.payload["fitness"] for event in world.log if event.kind is EventKind.BEST_IMPROVED]
    assert bests == sorted(bests)
    assert bests[0] == -9.0
    assert bests[-1] > -0.1


def test_a_target_ends_the_run_at_once() -> None:
    search, _, reason = run(RunConfig(budget=BudgetConfig(evaluations=5000)), target=-0.5)
    assert reason == "target"
    assert search.state.account.evaluations < 5000


def test_a_fitness_target_of_the_budget_ends_the_run() -> None:
    search, _, reason = run(RunConfig(budget=BudgetConfig(target=-1.0)))
    assert reason == "target"
    assert search.state.best is not None
    assert search.state.best.fitness is not None
    assert search.state.best.fitness >= -1.0


def test_patience_ends_a_run_that_stands_still() -> None:
    search, _, reason = run(RunConfig(budget=BudgetConfig(evaluations=None, patience=40)))
    assert reason == "patience"
    assert search.state.account.since_best >= 40


def test_tokens_end_a_run() -> None:
    search, _, reason = run(RunConfig(budget=BudgetConfig(tokens=100)))
    assert reason == "tokens"
    assert search.state.account.tokens >= 100


def test_wall_clock_ends_a_run() -> None:
    toy = toy_problem()
    search = Search("run_toy", toy, RunConfig(budget=BudgetConfig(wall_seconds=10.0)), ASKING)
    seed = search.start().candidates[0]
    search.tell(seed.id, score(toy, seed.program))
    assert search.ended(9.9) is None
    (proposal,) = search.ask(9.0).proposals
    made = [child for answer in answers(proposal) for child in search.answer(1, answer).candidates]
    search.tell(made[0].id, score(toy, made[0].program))
    assert search.ask(9.9).proposals
    assert search.ended(10.0) == "wall_seconds"
    assert not search.ask(10.0).proposals


def test_a_policy_that_only_repeats_the_seed_fails_the_run() -> None:
    toy = toy_problem()
    search = Search("run_toy", toy, RunConfig(), ASKING)
    seed = search.start().candidates[0]
    search.tell(seed.id, score(toy, seed.program))
    while search.ended() is None:
        (proposal,) = search.ask().proposals
        search.answer(proposal.number, Answer(chain=0, index=0, text=seed.program.text.replace("0.0", "0.0  # same")))
        search.complete(proposal.number, CompletedReply(completions=("same",)))
    assert search.ended() == "no_new_programs"
    assert search.state.account.evaluations == 1
    assert "was new" in search.explain("no_new_programs")


def test_a_run_whose_seeds_all_fail_ends_with_an_error() -> None:
    search = Search("run_toy", toy_problem(), RunConfig(), ASKING)
    seed = search.start().candidates[0]
    search.tell(seed.id, Evaluation(outcome=Outcome.ERROR, reason="ZeroDivisionError"))
    assert search.ended() == "error"
    assert not search.ask().proposals


def test_a_run_whose_seeds_were_never_scored_ends_with_an_error() -> None:
    search = Search("run_toy", toy_problem(), RunConfig(), ASKING)
    seed = search.start().candidates[0]
    assert search.ended() is None
    search.tell(seed.id, Evaluation(outcome=Outcome.CANCELLED))
    assert search.ended() == "error"


def test_one_seed_that_works_is_enough() -> None:
    toy = toy_problem(seeds=(0.0, 1.0))
    search = Search("run_toy", toy, RunConfig(), ASKING)
    first, second = search.start().candidates
    search.tell(second.id, score(toy, second.program))
    assert not search.ask().proposals
    search.tell(first.id, Evaluation(outcome=Outcome.CRASH, reason="it died"))
    (proposal,) = search.ask().proposals
    assert proposal.parent.candidate_id == second.id


def test_an_answer_that_was_not_asked_for_takes_no_place_of_another() -> None:
    toy = toy_problem()
    search = Search("run_toy", toy, RunConfig(answers=3, samples=2), ASKING)
    seed = search.start().candidates[0]
    search.tell(seed.id, score(toy, seed.program))
    (proposal,) = search.ask().proposals
    for chain, index in ((0, 3), (0, -1), (2, 0), (-1, 2)):
        assert not search.answer(proposal.number, Answer(chain=chain, index=index, text="x = 9\n")).events
    (candidate,) = search.answer(proposal.number, Answer(chain=1, index=0, text="x = 1\n")).candidates
    assert candidate.position == 3


def test_no_more_answers_are_taken_than_the_budget_has_room_for() -> None:
    toy = toy_problem()
    search = Search("run_toy", toy, RunConfig(answers=3, samples=2, budget=BudgetConfig(evaluations=5)), ASKING)
    seed = search.start().candidates[0]
    search.tell(seed.id, score(toy, seed.program))
    (proposal,) = search.ask().proposals
    assert (proposal.answers, proposal.samples, proposal.limit) == (3, 2, 4)
    answers = [Answer(chain=n // 3, index=n % 3, text=f"x = {n + 1}\n") for n in (0, 3, 4, 5, 1, 2)]
    taken = [c.position for answer in answers for c in search.answer(proposal.number, answer).candidates]
    assert taken == [0, 3, 4, 5]
    assert not search.ask().proposals


def test_seeds_live_on_every_island_and_islands_exchange_migrants() -> None:
    _, world, _ = run(RunConfig(islands=3, migration_interval=10, budget=BudgetConfig(evaluations=200)))
    seeded = [e.payload["island"] for e in world.log if e.kind is EventKind.INDIVIDUAL_INSERTED][:3]
    assert seeded == [0, 1, 2]
    moves = {(e.payload["from"], e.payload["to"]) for e in world.log if e.kind is EventKind.ISLAND_MIGRATED}
    assert moves == {(0, 1), (1, 2), (2, 0)}


def test_no_migrant_leaves_where_the_topology_is_none() -> None:
    config = RunConfig(topology="none", migration_interval=5, budget=BudgetConfig(evaluations=100))
    _, world, _ = run(config)
    assert all(event.kind is not EventKind.ISLAND_MIGRATED for event in world.log)


def test_an_island_that_stands_still_restarts_from_another_ones_best() -> None:
    config = RunConfig(islands=2, reset_after=8, topology="none", budget=BudgetConfig(evaluations=200))
    _, world, _ = run(config)
    resets = [event for event in world.log if event.kind is EventKind.ISLAND_RESET]
    assert resets
    assert all(event.payload["survivor"] for event in resets)


@pytest.mark.parametrize("seed", range(6))
def test_an_island_ahead_of_all_others_is_not_reset(seed: int) -> None:
    config = RunConfig(islands=3, reset_after=4, topology="none", seed=seed, budget=BudgetConfig(evaluations=150))
    search, world, _ = run(config)
    assert any(event.kind is EventKind.ISLAND_RESET for event in world.log)
    alive = [member.fitness for island in search.state.islands for member in island.archive.members.best()]
    assert search.state.best is not None
    assert search.state.best.fitness in alive


def test_best_of_n_always_starts_from_the_seed_and_sequential_from_the_last() -> None:
    _, samples, _ = run(RunConfig(strategy="best_of_n", budget=BudgetConfig(evaluations=40)))
    parents = {e.payload["parents"][0][0] for e in samples.log if e.kind is EventKind.PROPOSAL_CREATED}
    assert parents == {samples.evaluated[0]}
    _, revisions, _ = run(RunConfig(strategy="sequential", budget=BudgetConfig(evaluations=40)))
    parents = {e.payload["parents"][0][0] for e in revisions.log if e.kind is EventKind.PROPOSAL_CREATED}
    assert len(parents) > 3


def test_with_several_objectives_parents_are_chosen_under_drawn_weights() -> None:
    _, world, _ = run(RunConfig(budget=BudgetConfig(evaluations=60)), several=True)
    asked = [event.payload for event in world.log if event.kind is EventKind.PROPOSAL_CREATED]
    assert {payload["selection"] for payload in asked} == {"dirichlet"}
    assert all(sum(payload["weights"]) == pytest.approx(1.0) for payload in asked)
    assert len({tuple(payload["weights"]) for payload in asked}) == len(asked)


def test_every_proposal_has_another_seed() -> None:
    _, world, _ = run(RunConfig(budget=BudgetConfig(evaluations=100)))
    seeds = [event.payload["seed"] for event in world.log if event.kind is EventKind.PROPOSAL_CREATED]
    assert len(set(seeds)) == len(seeds)


def test_events_hold_no_program_text() -> None:
    _, world, _ = run(RunConfig(budget=BudgetConfig(evaluations=60)))
    assert not any("x = " in repr(event.payload) for event in world.log)


def test_a_log_of_another_search_is_refused() -> None:
    search, world, _ = run(RunConfig(budget=BudgetConfig(evaluations=60)))
    twisted = [
        Event(replace(event.data, status="full")) if isinstance(event.data, IndividualInserted) else event
        for event in world.log
    ]
    with pytest.raises(ReplayError, match="replay"):
        resume(world, new_search(search.problem, search.state.config), twisted)
    with pytest.raises(ReplayError):
        resume(world, new_search(search.problem, search.state.config), world.log[5:])


def test_a_deterministic_log_with_a_gap_is_refused() -> None:
    toy = toy_problem()
    config = RunConfig(deterministic=DeterministicConfig(window=4), budget=BudgetConfig(evaluations=30))
    world = World(toy)
    search = new_search(toy, config)
    world.play(search, search.start())
    places = [place for place, event in enumerate(world.log) if event.kind is EventKind.CANDIDATE_CREATED]
    with pytest.raises(ReplayError):
        resume(world, new_search(toy, config), [e for place, e in enumerate(world.log) if place != places[5]])


def test_another_deterministic_window_refuses_the_log() -> None:
    toy = toy_problem()
    config = RunConfig(deterministic=DeterministicConfig(window=6), budget=BudgetConfig(evaluations=60))
    world = World(toy)
    search = new_search(toy, config)
    world.play(search, search.start())
    other = new_search(toy, replace(config, deterministic=DeterministicConfig(window=1)))
    with pytest.raises(ReplayError, match="window"):
        resume(world, other, world.log[:100])


def test_an_unknown_number_or_candidate_changes_nothing() -> None:
    search = Search("run_toy", toy_problem(), RunConfig(), ASKING)
    search.start()
    assert not search.answer(7, Answer(chain=0, index=0, text="x = 1\n")).events
    assert not search.complete(7, CompletedReply(completions=())).events
    assert not search.fail(7, "gone").events
    assert not search.tell("cnd_unknown", Evaluation(outcome=Outcome.OK)).events


def test_a_child_descends_from_what_its_policy_was_shown() -> None:
    toy = toy_problem(seeds=(0.0, 4.0, 8.0))
    search = Search("run_toy", toy, RunConfig(islands=1), ASKING)
    for seed in search.start().candidates:
        search.tell(seed.id, score(toy, seed.program))
    (proposal,) = search.ask().proposals
    parent, first = proposal.parent.candidate_id, proposal.inspirations[0].candidate_id
    assert len(proposal.inspirations) > 1
    some = Answer(chain=0, index=0, text="x = 1.5\n", shown=(parent, first))
    broken = Answer(chain=0, index=1, text="x = (\n", shown=(parent,))
    everything = Answer(chain=0, index=2, text="x = 2.5\n")
    (child,) = search.answer(proposal.number, some).candidates
    assert child.parents == ((parent, "parent"), (first, "inspiration"))
    (rejected,) = search.answer(proposal.number, broken).events
    assert rejected.payload["parents"] == [[parent, "parent"]]
    (other,) = search.answer(proposal.number, everything).candidates
    assert len(other.parents) == 1 + len(proposal.inspirations)


def shares(**values: float) -> RunConfig:
    return RunConfig(islands=2, operators=values, migration_interval=15, budget=BudgetConfig(evaluations=150))


def asked(world: World) -> list[Mapping[str, Any]]:
    return [event.payload for event in world.log if event.kind is EventKind.PROPOSAL_CREATED]


def test_operators_are_drawn_by_their_shares_and_proposals_say_with_which_probability() -> None:
    _, world, _ = run(replace(shares(mutate=3, crossover=1), budget=BudgetConfig(evaluations=900)))
    drawn = Counter(payload["operator"] for payload in asked(world)[10:])
    assert drawn["crossover"] / drawn.total() == pytest.approx(0.25, abs=0.1)
    assert {payload["probability"] for payload in asked(world)[10:]} == {0.75, 0.25}


def test_a_crossover_has_a_second_parent_that_lineage_calls_so() -> None:
    _, world, _ = run(shares(crossover=1))
    first, *later = asked(world)
    assert (first["operator"], first["probability"]) == ("mutate", 1.0)  # one member has no mate
    crossed = [payload for payload in later if payload["operator"] == "crossover"]
    assert crossed
    for payload in crossed:
        (parent, _), (second_parent, role), *others = payload["parents"]
        assert role == "crossover"
        assert len({parent, second_parent, *(name for name, _ in others)}) == 2 + len(others)
    assert any(role == "crossover" for child in world.candidates.values() for _, role in child.parents)


def test_a_failure_is_repaired_once_and_its_working_ancestor_is_shown_first() -> None:
    _, world, _ = run(shares(mutate=1, repair=3))
    repairs = [payload for payload in asked(world) if payload["operator"] == "repair"]
    parents = [payload["parents"][0][0] for payload in repairs]
    assert len(set(parents)) == len(parents) > 3
    assert all(world.individuals[parent].fitness is None for parent in parents)
    for payload in repairs:
        (parent, _), (origin, role), *_ = payload["parents"]
        assert role == "inspiration"
        assert world.individuals[origin].fitness is not None
        assert parent not in payload["failures"]
        (grandparent, _), *_ = world.candidates[parent].parents
        assert grandparent == origin or world.individuals[grandparent].fitness is None


def test_without_failures_nothing_is_repaired() -> None:
    toy = toy_problem()
    search = Search("run_toy", toy, shares(repair=1), ASKING)
    seed = search.start().candidates[0]
    search.tell(seed.id, score(toy, seed.program))
    (proposal,) = search.ask().proposals
    assert (proposal.operator, proposal.probability) == ("mutate", 1.0)


def test_a_lost_evaluation_is_no_failure_to_repair() -> None:
    toy = toy_problem()
    search = Search("run_toy", toy, replace(shares(repair=1), islands=1), ASKING)
    seed = search.start().candidates[0]
    search.tell(seed.id, score(toy, seed.program))
    (proposal,) = search.ask().proposals
    for index, outcome in enumerate((Outcome.LOST, Outcome.STAGE, Outcome.ERROR)):
        answer = Answer(chain=0, index=index, text=f"x = {index + 5}.5\n")
        (candidate,) = search.answer(proposal.number, answer).candidates
        search.tell(candidate.id, Evaluation(outcome=outcome, reason="so it was"))
    (repair,) = search.ask().proposals
    assert (repair.operator, repair.parent.evaluation.outcome) == ("repair", Outcome.ERROR)
    assert search.ask().proposals[0].operator == "mutate"


def test_an_adaptive_choice_follows_success_and_leaves_none_out() -> None:
    config = replace(shares(mutate=1, simplify=1), operator_choice="adaptive", budget=BudgetConfig(evaluations=600))
    search, world, _ = run(config)
    chances = [payload["probability"] for payload in asked(world)]
    assert min(chances) >= 0.05
    assert len(set(chances)) > 10
    assert search.state.trials.credit.tried.keys() == {"mutate", "simplify"}
    assert not search.state.trials.open


@pytest.mark.parametrize("strategy", ["best_of_n", "sequential"])
def test_the_baselines_keep_their_own_operators(strategy: str) -> None:
    _, world, _ = run(replace(shares(repair=1, crossover=1), strategy=strategy, operator_choice="adaptive"))
    assert {payload["operator"] for payload in asked(world)} == {"sample" if strategy == "best_of_n" else "revise"}


@pytest.mark.parametrize(
    "operators",
    [{"crossover": 1.0}, {"repair": 1.0}, {"simplify": 1.0}, {"mutate": 1.0, "repair": 2.0, "crossover": 1.0}],
)
@pytest.mark.parametrize("choice", ["shares", "adaptive"])
def test_a_replay_goes_on_as_the_unbroken_run_with_any_operators(operators: dict[str, float], choice: str) -> None:
    novelty = NoveltyConfig(kind="syntax", min_distance=0.3)
    config = replace(
        shares(**operators), operator_choice=choice, novelty=novelty, deterministic=DeterministicConfig(window=3)
    )
    toy = toy_problem(several=True, seeds=(0.0, 5.0))
    whole = World(toy)
    search = new_search(toy, config)
    whole.play(search, search.start())
    for part in (0.2, 0.5, 0.8):
        prefix = whole.log[: whole.boundaries[int(part * len(whole.boundaries))]]
        again = World(toy, individuals=whole.individuals, candidates=whole.candidates)
        second = new_search(toy, config)
        again.play(second, resume(again, second, prefix))
        assert prefix + again.log == whole.log
        assert second.state.trials.credit.tried == search.state.trials.credit.tried


def test_a_child_that_is_hardly_new_is_rejected_counted_and_never_evaluated() -> None:
    toy = toy_problem(seeds=(0.0, 4.0))
    config = RunConfig(islands=1, novelty=NoveltyConfig(kind="tokens", min_distance=0.9))
    search = Search("run_toy", toy, config, ASKING)
    for seed in search.start().candidates:
        search.tell(seed.id, score(toy, seed.program))
    (proposal,) = search.ask().proposals
    near = search.answer(proposal.number, Answer(chain=0, index=0, text="x = 0.5\n"))
    assert not near.candidates
    (event,) = near.events
    assert event.kind is EventKind.CANDIDATE_REJECTED
    assert "the program is too near to a program of its island" in event.payload["reason"]
    assert search.state.account.answers == 1
    other = {"x = 0.0\n": "x = 4.0", "x = 4.0\n": "x = 0.0"}[proposal.parent.program.text]
    same = search.answer(proposal.number, Answer(chain=0, index=1, text=f"{other}  # again\n"))
    assert [event.kind for event in same.events] == [EventKind.CANDIDATE_CREATED, EventKind.CANDIDATE_DUPLICATE]
    assert search.answer(proposal.number, Answer(chain=0, index=2, text="import math\nx = math.pi * 2\n")).candidates


def racing(**problem: Any) -> Problem:
    toy = toy_problem(**problem)
    return replace(toy, evaluator=replace(toy.evaluator, repeats=8, min_repeats=3))


def test_a_candidate_has_the_median_of_its_island_as_its_bar_where_repeats_may_be_spared() -> None:
    search = Search("run_toy", racing(seeds=(0.0, 4.0)), RunConfig(islands=1), ASKING)
    seeds = search.start().candidates
    assert [seed.early_stop_threshold for seed in seeds] == [None, None], "a seed has nothing to beat"
    for seed in seeds:
        search.tell(seed.id, score(search.problem, seed.program))
    (proposal,) = search.ask().proposals
    (child,) = search.answer(proposal.number, Answer(chain=0, index=0, text="x = 1.5\n")).candidates
    assert child.early_stop_threshold == (-9.0 - 1.0) / 2  # of -(x - 3)^2 at 0 and at 4
    plain = Search("run_toy", toy_problem(), RunConfig(islands=1), ASKING)
    (seed,) = plain.start().candidates
    plain.tell(seed.id, score(plain.problem, seed.program))
    (asked,) = plain.ask().proposals
    (other,) = plain.answer(asked.number, Answer(chain=0, index=0, text="x = 1.5\n")).candidates
    assert other.early_stop_threshold is None


def test_a_replay_owes_evaluations_with_the_bars_that_they_were_ordered_with() -> None:
    toy = racing()
    config = RunConfig(islands=2, budget=BudgetConfig(evaluations=60), deterministic=DeterministicConfig(window=4))
    whole = World(toy)
    search = new_search(toy, config)
    whole.play(search, search.start())
    bars = {one.id: one.early_stop_threshold for one in whole.candidates.values()}
    assert len(set(bars.values())) > 10
    stored = {key: replace(one, early_stop_threshold=None) for key, one in whole.candidates.items()}
    prefix = whole.log[: whole.boundaries[len(whole.boundaries) // 2]]
    again = World(toy, individuals=whole.individuals, candidates=stored)
    second = new_search(toy, config)
    owed = resume(again, second, prefix)
    assert owed.candidates
    assert [one.early_stop_threshold for one in owed.candidates] == [bars[one.id] for one in owed.candidates]

"""Deterministic runs are equal whatever the order of completion; a replayed prefix ends where the whole run did."""

from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.configuration import SELECTIONS, ArchiveConfig, BudgetConfig, DeterministicConfig, RunConfig
from evolve.events import Event
from tests.fakes.world import World, new_search, resume, toy_problem

ARCHIVES = st.sampled_from(["grid", "pareto", "top"])
CHOICES = st.sampled_from(SELECTIONS)


def config(window: int, archive: str, selection: str, evaluations: int = 40) -> RunConfig:
    return RunConfig(
        islands=2,
        migration_interval=7,
        reset_after=12,
        archive=ArchiveConfig(kind=archive, size=10),
        selection={selection: 1.0},
        budget=BudgetConfig(evaluations=evaluations),
        deterministic=DeterministicConfig(window=window),
        seed=5,
    )


def play(world: World, window: int, archive: str, selection: str) -> list[Event]:
    search = new_search(world.problem, config(window, archive, selection))
    assert world.play(search, search.start()) == "evaluations"
    return world.log


@given(data=st.data(), window=st.integers(1, 9), archive=ARCHIVES, selection=CHOICES, several=st.booleans())
@settings(max_examples=40, deadline=None)
def test_a_deterministic_run_is_equal_whatever_the_order_of_completion(
    data: st.DataObject, window: int, archive: str, selection: str, several: bool
) -> None:
    problem = toy_problem(several=several, seeds=(0.0, 5.0))
    calm = play(World(problem), window, archive, selection)
    wild = World(problem, choose=lambda n: data.draw(st.integers(0, n - 1)))
    assert play(wild, window, archive, selection) == calm


@given(data=st.data(), window=st.integers(0, 6), archive=ARCHIVES, selection=CHOICES, part=st.floats(0, 0.97))
@settings(max_examples=60, deadline=None)
def test_a_run_cut_anywhere_goes_on_to_the_same_end(
    data: st.DataObject, window: int, archive: str, selection: str, part: float
) -> None:
    problem = toy_problem(several=True, seeds=(0.0, 5.0))
    whole = World(problem)
    search = new_search(problem, config(window, archive, selection))
    whole.play(search, search.start())
    prefix = whole.log[: whole.boundaries[int(part * len(whole.boundaries))]]
    again = World(problem, individuals=whole.individuals, candidates=whole.candidates)
    second = new_search(problem, config(window, archive, selection))
    again.play(second, resume(again, second, prefix))
    if window:
        assert prefix + again.log == whole.log
    assert second.state.account.evaluations == 40
    told = [e.payload["candidate_id"] for e in prefix if e.kind == "candidate.evaluated"]
    assert not set(told) & set(again.evaluated)

"""Hints to a run at work: they stand for so many proposals, and a replay knows them."""

import re
from dataclasses import replace

import pytest

from evolve.change_events import HintGiven, RequestedChange
from evolve.configuration import BudgetConfig, DeterministicConfig, RunConfig
from evolve.errors import ConfigurationError, ReplayError
from evolve.event_types import ProposalCreated
from evolve.events import Event
from evolve.search.hints import MAX_HINT_CHARACTERS, MAX_HINT_PROPOSALS
from tests.fakes.world import World, new_search, resume, toy_problem

HINT = HintGiven(change_id="hnt_1", text="try rings", proposals=5, by="ada")
CONFIG = RunConfig(islands=2, budget=BudgetConfig(evaluations=120), deterministic=DeterministicConfig(window=4))


def hinted(*hints: HintGiven, config: RunConfig = CONFIG, after: int = 20, apart: int = 20) -> tuple[World, object]:
    """A run whose first hint comes after so many arrivals, and the others so many apart."""
    calls = [0]

    def choose(_: int) -> int:
        calls[0] += 1
        place, rest = divmod(calls[0] - after, apart)
        if rest == 0 and 0 <= place < len(hints):
            world._send(search, search.change(RequestedChange(data=hints[place])))
        return 0

    world = World(toy_problem(), choose=choose)
    search = new_search(world.problem, config)
    world.play(search, search.start())
    return world, search


def used(world: World) -> list[str]:
    """The hint of each proposal, in their order."""
    return [event.data.hint for event in world.log if isinstance(event.data, ProposalCreated)]


@pytest.mark.parametrize(
    "config", [CONFIG, replace(CONFIG, deterministic=DeterministicConfig(window=0))], ids=["deterministic", "free"]
)
def test_a_hint_stands_in_the_next_proposals_and_in_no_other(config: RunConfig) -> None:
    world, _ = hinted(HINT, config=config)
    names = used(world)
    first = names.index("hnt_1")
    assert first > 0
    assert names[first : first + 5] == ["hnt_1"] * 5
    assert set(names[:first] + names[first + 5 :]) == {""}
    texts = [event.subject.hint for event in world.log if isinstance(event.data, ProposalCreated)]  # type: ignore[union-attr]
    assert texts == ["try rings" if name else "" for name in names]


def test_another_hint_takes_its_place_and_an_empty_one_ends_it() -> None:
    long = replace(HINT, proposals=1000)
    other = replace(HINT, change_id="hnt_2", text="try squares", proposals=1000)
    end = HintGiven(change_id="hnt_3", text="", proposals=1, by="ada")
    names = used(hinted(long, other, end, after=10, apart=15)[0])
    assert re.fullmatch("0+1+2+0+", "".join(name[-1:] or "0" for name in names))


def islands(world: World) -> list[int]:
    """The island of each proposal, in their order."""
    return [event.data.island for event in world.log if isinstance(event.data, ProposalCreated)]


def test_a_hint_for_one_island_stands_in_its_next_proposals_alone() -> None:
    world, _ = hinted(replace(HINT, island=1))
    names = used(world)
    first = names.index("hnt_1")
    held = [place for place, name in enumerate(names) if name]
    of_island = [place for place, island in enumerate(islands(world)) if island == 1 and place >= first]
    assert held == of_island[:5]
    assert {0, 1} == set(islands(world)[first : held[-1]]), "other islands made proposals meanwhile"


def test_the_hint_of_an_island_comes_before_one_for_all_and_another_for_all_replaces_both() -> None:
    everywhere = replace(HINT, proposals=1000)
    own = replace(HINT, change_id="hnt_2", text="try squares", proposals=1000, island=1)
    last = replace(HINT, change_id="hnt_3", text="try stars", proposals=1000)
    world, _ = hinted(everywhere, own, last, after=10, apart=25)
    names, where = used(world), islands(world)
    second, third = names.index("hnt_2"), names.index("hnt_3")
    between = set(zip(where[second:third], names[second:third], strict=True))
    assert between == {(0, "hnt_1"), (1, "hnt_2")}
    assert set(names[third:]) == {"hnt_3"}


def test_an_empty_hint_for_an_island_ends_its_own_alone() -> None:
    everywhere = replace(HINT, proposals=1000)
    own = replace(HINT, change_id="hnt_2", text="try squares", proposals=1000, island=1)
    end = replace(HINT, change_id="hnt_3", text="", island=1)
    world, _ = hinted(everywhere, own, end, after=10, apart=25)
    names = used(world)
    last = max(place for place, name in enumerate(names) if name == "hnt_2")
    assert set(names[last + 1 :]) == {"hnt_1"}


def test_a_hint_that_is_given_twice_counts_once() -> None:
    world, _ = hinted(HINT, HINT)
    assert used(world).count("hnt_1") == 5
    assert sum(isinstance(event.data, HintGiven) for event in world.log) == 1


@pytest.mark.parametrize("island", [None, 1])
def test_a_replay_goes_on_with_the_hint_as_the_unbroken_run(island: int | None) -> None:
    whole, _ = hinted(replace(HINT, island=island))
    given = next(at for at, event in enumerate(whole.log) if isinstance(event.data, HintGiven))
    ends = [end for end in whole.boundaries if end > given]
    for end in (*ends[:20], ends[len(ends) // 2]):
        again = World(whole.problem, individuals=whole.individuals, candidates=whole.candidates)
        second = new_search(whole.problem, CONFIG)
        owed = resume(again, second, whole.log[:end])
        assert [bool(one.hint) for one in owed.proposals] == [bool(one.hint_id) for one in owed.proposals]
        again.play(second, owed)
        assert whole.log[:end] + again.log == whole.log


def test_a_proposal_with_a_hint_that_does_not_stand_is_refused() -> None:
    whole, _ = hinted(HINT)
    without = [event for event in whole.log if not isinstance(event.data, HintGiven)]
    again = World(whole.problem, individuals=whole.individuals, candidates=whole.candidates)
    with pytest.raises(ReplayError, match="hnt_1"):
        resume(again, new_search(whole.problem, CONFIG), without)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"text": "x" * (MAX_HINT_CHARACTERS + 1)}, "2000 characters"),
        ({"text": "a\x1b[31m"}, "control characters"),
        ({"proposals": 0}, "1 to 10000"),
        ({"island": 2}, "no island 2: its islands are 0 to 1"),
        ({"island": -1}, "no island -1"),
        ({"proposals": MAX_HINT_PROPOSALS + 1}, "1 to 10000"),
    ],
)
def test_a_hint_that_cannot_be_is_refused_with_the_reason(changes: dict[str, object], reason: str) -> None:
    search = new_search(toy_problem(), CONFIG)
    with pytest.raises(ConfigurationError, match=reason):
        search.change(RequestedChange(data=replace(HINT, **changes)))  # type: ignore[arg-type]  # values of each field's own type


@pytest.mark.parametrize("island", [None, 0, 3])
def test_the_event_keeps_its_author_text_and_island(island: int | None) -> None:
    hint = replace(HINT, island=island)
    payload = Event(hint).payload
    assert ("island" in payload) == (island is not None)
    assert Event.stored(Event(hint).kind, payload=payload).data == hint

"""Built-in selections, archives and strategies keep the rules that extensions are held to; mistakes break them."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from evolve.archives import Insertion, Status
from evolve.archives.population import Population
from evolve.configuration import ARCHIVES, SELECTIONS, STRATEGIES, ArchiveConfig, RunConfig
from evolve.credit.operators import Credit, Operator
from evolve.extensions import ExtensionKind, Extensions
from evolve.problem import Problem
from evolve.proposal import Individual
from evolve.search.islands import Island
from evolve.search.stopping import Progress
from evolve.search.strategies import ProposalPlan
from evolve.selection import ArchiveView, Selected, SelectionParams
from evolve.testing import (
    ARCHIVE_RULES,
    SELECTION_RULES,
    STRATEGY_RULES,
    asks_for_programs,
    chooses_a_member,
    decides_by_progress,
    leaves_the_members,
    plans_with_what_there_is,
    refuses_who_is_in,
    repeats_its_choices,
    repeats_its_decisions,
    repeats_its_plans,
    tells_what_it_did,
)
from tests.unit.individuals import individual

BUILT_IN = Extensions()


@pytest.mark.parametrize("name", SELECTIONS)
@pytest.mark.parametrize("rule", SELECTION_RULES)
def test_selections(name: str, rule: Callable[[object], None]) -> None:
    rule(BUILT_IN.resolve(ExtensionKind.SELECTION, name)[1])


@pytest.mark.parametrize("name", ARCHIVES)
@pytest.mark.parametrize("rule", ARCHIVE_RULES)
def test_archives(name: str, rule: Callable[[object], None]) -> None:
    rule(BUILT_IN.resolve(ExtensionKind.ARCHIVE, name)[1])


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("rule", STRATEGY_RULES)
def test_strategies(name: str, rule: Callable[[object], None]) -> None:
    rule(BUILT_IN.resolve(ExtensionKind.STRATEGY, name)[1])


class Beyond:
    def __call__(self, view: ArchiveView, rng: np.random.Generator, params: SelectionParams) -> Selected:
        return Selected(place=len(view))


def only_a_place(view: ArchiveView, rng: np.random.Generator, params: SelectionParams) -> int:
    return 0


def without_knobs(view: ArchiveView, rng: np.random.Generator) -> Selected:
    return Selected(place=0)


class Counting:
    """It keeps state, here for all of its kind, and so chooses differently each time."""

    calls = 0

    def __call__(self, view: ArchiveView, rng: np.random.Generator, params: SelectionParams) -> Selected:
        Counting.calls += 1
        return Selected(place=Counting.calls // 7 % len(view))


class Meddling:
    def __call__(self, view: ArchiveView, rng: np.random.Generator, params: SelectionParams) -> Selected:
        view.members.add(individual(f"i{len(view)}", 1.0, (1.0,) * len(view.objectives)))
        return Selected(place=0)


class Archive:
    def __init__(self, problem: Problem, config: ArchiveConfig, seed: int) -> None:
        self.members = Population(len(problem.objectives))

    def offer(self, one: Individual) -> Insertion:
        return Insertion(status=Status.DUPLICATE if one.candidate_id in self.members else Status.ADDED)

    def apply(self, one: Individual, insertion: Insertion) -> None:
        self.members.exchange(one, kept=insertion.kept, displaced=insertion.displaced)

    def remove(self, candidate_id: str) -> None:
        self.members.remove(candidate_id)


class Untruthful(Archive):
    def apply(self, one: Individual, insertion: Insertion) -> None:
        pass


class Hasty(Archive):
    def offer(self, one: Individual) -> Insertion:
        insertion = super().offer(one)
        self.apply(one, insertion)
        return insertion


class Aloof(Archive):
    def offer(self, one: Individual) -> Insertion:
        return Insertion(status=Status.FULL)


class Repeating(Archive):
    def offer(self, one: Individual) -> Insertion:
        return Insertion(status=Status.ADDED)


class Mistaken(Archive):
    def offer(self, one: Individual) -> Insertion:
        return Insertion(status=Status.IMPROVED, displaced=("cnd_nobody",))


class Forgetful(Archive):
    def offer(self, one: Individual) -> Insertion:
        return Insertion(status=Status.FULL if one.candidate_id in self.members else Status.ADDED)


class Fickle(Archive):
    offers = 0

    def offer(self, one: Individual) -> Insertion:
        Fickle.offers += 1
        unlucky = len(self.members) and Fickle.offers % 7 == 0
        return Insertion(status=Status.FULL) if unlucky and one.candidate_id not in self.members else super().offer(one)


class Untold:
    request = "Write $count."


def undecided(progress: Progress) -> int:
    return progress.evaluations


def in_a_hurry(progress: Progress) -> bool:
    return progress.improvements[-1][1] > 1


class Alternating:
    calls = 0

    def __call__(self, progress: Progress) -> bool:
        Alternating.calls += 1
        return Alternating.calls % 2 == 0


class Astray:
    def __init__(self, problem: Problem, config: RunConfig, seeds: Sequence[Individual], credit: Credit) -> None:
        self.seeds = seeds

    def plan(
        self, number: int, islands: Sequence[Island], latest: Individual, rng: np.random.Generator
    ) -> ProposalPlan:
        return ProposalPlan(island=len(islands), operator="mutate", parent=self.seeds[0])


class Wandering(Astray):
    plans = 0

    def plan(
        self, number: int, islands: Sequence[Island], latest: Individual, rng: np.random.Generator
    ) -> ProposalPlan:
        Wandering.plans += 1
        members = islands[0].archive.members
        return ProposalPlan(island=0, operator="mutate", parent=members[Wandering.plans % len(members)])


@pytest.mark.parametrize(
    ("rule", "broken", "sentence"),
    [
        (chooses_a_member, Beyond, "Beyond breaks the contract of selections: it chose the place 1 among 1 members"),
        (chooses_a_member, 7, "breaks the contract of selections: a value of type int cannot be called"),
        (chooses_a_member, only_a_place, "it returned a value of type int, not a Selected"),
        (chooses_a_member, without_knobs, "failed: TypeError"),
        (repeats_its_choices, Counting, "draw from rng alone"),
        (leaves_the_members, Meddling, "it changed the population"),
        (tells_what_it_did, Untruthful, "apply did not do what was decided: added"),
        (tells_what_it_did, Hasty, "offer changed its members: only apply may"),
        (tells_what_it_did, Aloof, "it must hold the first individual"),
        (tells_what_it_did, Mistaken, "offer displaces who is not a member"),
        (refuses_who_is_in, Repeating, "offer returned added for a member"),
        (refuses_who_is_in, Forgetful, "offered again were full"),
        (asks_for_programs, Operator(parents=2), "not an evolve.credit.operators.Operator with a request"),
        (asks_for_programs, Untold, "not an evolve.credit.operators.Operator with a request"),
        (asks_for_programs, "Write $count.", "could not be made: TypeError"),
        (repeats_its_decisions, Fickle, "a run could not be resumed"),
        (
            decides_by_progress,
            undecided,
            "undecided breaks the contract of stopping rules: it returned a value of type int",
        ),
        (decides_by_progress, in_a_hurry, "in_a_hurry failed: IndexError"),
        (decides_by_progress, Alternating, "keep no state"),
        (plans_with_what_there_is, Astray, "it planned on the island 3 of 3"),
        (repeats_its_plans, Wandering, "draw from rng alone"),
    ],
)
def test_a_mistake_breaks_its_rule(rule: Callable[[object], None], broken: object, sentence: str) -> None:
    with pytest.raises(AssertionError) as caught:
        rule(broken)
    assert sentence in str(caught.value)

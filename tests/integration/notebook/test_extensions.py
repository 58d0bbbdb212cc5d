"""Selections, archives and strategies of a script's own: objects take part, and their mistakes lose nothing."""

from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evolve
from evolve.archives import Insertion, Status
from evolve.archives.population import Population
from evolve.configuration import ArchiveConfig, RunConfig
from evolve.credit.operators import Credit, Operator
from evolve.errors import ConfigurationError, MissingExtensionError
from evolve.events import EventKind
from evolve.problem import Problem
from evolve.proposal import Individual
from evolve.search.islands import Island
from evolve.search.result import Result
from evolve.search.stopping import Progress
from evolve.search.strategies import ProposalPlan
from evolve.selection import ArchiveView, Selected, SelectionParams
from service.errors import UsageError
from service.notebook.result import RunFailedError, RunResult
from tests.fakes.plugin import NAME, VERSION, install
from tests.integration.notebook.test_run import SEED, closeness, examples, plain

HOW_TO = Path(__file__).parents[3] / "docs" / "how-to" / "extend.md"


class Greedy:
    def __init__(self, rank: int = 0, fails_after: int = 10**9) -> None:
        self.rank, self.left = rank, fails_after

    def __call__(self, view: ArchiveView, rng: np.random.Generator, params: SelectionParams) -> Selected:
        self.left -= 1
        if self.left < 0:
            raise ValueError("no luck today")
        return Selected(place=view.ranked(min(self.rank, len(view) - 1)), rationale={"rank": self.rank})


class Newest:
    def __init__(self, problem: Problem, config: ArchiveConfig, seed: int) -> None:
        self.members = Population(len(problem.objectives))
        self.order: deque[str] = deque()
        self.size = config.size

    def offer(self, individual: Individual) -> Insertion:
        if individual.candidate_id in self.members:
            return Insertion(status=Status.DUPLICATE)
        full = len(self.members) >= self.size
        return Insertion(status=Status.ADDED, displaced=(self.order[0],) if full else ())

    def apply(self, individual: Individual, insertion: Insertion) -> None:
        for candidate_id in insertion.displaced:
            self.members.remove(candidate_id)
            self.order.remove(candidate_id)
        if insertion.kept:
            self.members.add(individual)
            self.order.append(individual.candidate_id)

    def remove(self, candidate_id: str) -> None:
        self.members.remove(candidate_id)
        self.order.remove(candidate_id)


class Climber:
    def __init__(self, problem: Problem, config: RunConfig, seeds: Sequence[Individual], credit: Credit) -> None:
        pass

    def plan(
        self, number: int, islands: Sequence[Island], latest: Individual, rng: np.random.Generator
    ) -> ProposalPlan:
        return ProposalPlan(island=0, operator="mutate", parent=islands[0].archive.members.best()[0])


class Lazy(Newest):
    def apply(self, individual: Individual, insertion: Insertion) -> None:
        if len(self.members) <= 3:
            super().apply(individual, insertion)


def run(**words: Any) -> RunResult:
    return evolve.run(SEED, evaluate=closeness, **{"evaluations": 40, "seed": 1, **words})


def proposals(result: Result) -> list[Mapping[str, Any]]:
    return [event.payload for event in result.events if event.kind is EventKind.PROPOSAL_CREATED]


def used(result: Result) -> list[tuple[str, str, str]]:
    (started,) = [event.payload for event in result.events if event.kind is EventKind.RUN_STARTED]
    return [(one["kind"], one["name"], f"{one['package']} {one['version']}") for one in started["extensions"]]


def test_a_selection_of_ones_own_chooses_every_parent() -> None:
    result = run(selection=Greedy())
    assert {one["selection"] for one in proposals(result)} == {f"{__name__}:Greedy"}
    assert all(one["rationale"]["rank"] == 0 for one in proposals(result))
    assert used(result) == [("selection", f"{__name__}:Greedy", " ")]
    assert plain(result) == plain(run(selection=Greedy()))


def test_two_objects_of_a_class_share_the_choices_with_a_built_in() -> None:
    result = run(selection={Greedy(0): 1.0, Greedy(3): 1.0, "uniform": 1.0}, evaluations=80)
    named = {one["selection"]: one["rationale"].get("rank") for one in proposals(result)}
    assert named == {f"{__name__}:Greedy": 0, f"{__name__}:Greedy_2": 3, "uniform": None}


def test_an_archive_of_ones_own_keeps_what_it_wants() -> None:
    result = run(archive={"kind": Newest, "size": 5}, islands=1)
    inserted = [event.payload for event in result.events if event.kind is EventKind.INDIVIDUAL_INSERTED]
    assert len(inserted) > 5
    assert [len(one["displaced"]) for one in inserted] == [0] * 5 + [1] * (len(inserted) - 5)
    assert used(result) == [("archive", f"{__name__}:Newest", " ")]


def test_islands_may_have_archives_of_ones_own() -> None:
    result = run(islands=2, variants=[{"islands": [1], "archive": Newest, "selection": Greedy()}])
    assert [kind for kind, *_ in used(result)] == ["archive", "selection"]


@pytest.mark.parametrize("given", [Climber, Climber(None, None, (), None)])  # type: ignore[arg-type] # it reads none
def test_a_strategy_of_ones_own_plans(given: object) -> None:
    result = run(strategy=given, islands=2)
    assert {one["island"] for one in proposals(result)} == {0}
    assert used(result) == [("strategy", f"{__name__}:Climber", " ")]


def test_an_operator_of_ones_own_is_asked_for_in_its_words() -> None:
    prompts: list[str] = []

    def policy(prompt: str) -> str:
        prompts.append(prompt)
        return f"x = {len(prompts)}\n"

    faster = Operator(request="Write $count, each faster than both parents.", parents=2)
    result = run(operators={faster: 1.0}, policy=policy, evaluations=12, selection={"uniform": 1.0})
    own = [one for one in proposals(result) if one["operator"] == "evolve.credit.operators:Operator"]
    asked = [prompt for prompt in prompts if "Write one program, each faster than both parents." in prompt]
    assert len(own) == len(asked) > 5
    assert all("second_parent" in one["rationale"] for one in own)
    assert used(result) == [("operator", "evolve.credit.operators:Operator", " ")]


@pytest.mark.parametrize("words", [{"request": "Write it."}, {"request": "$count", "parents": 3}])
def test_an_operator_says_how_many_programs_and_parents_it_takes(words: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        Operator(**words)


def test_a_stopping_rule_ends_a_run_by_its_progress() -> None:
    heard: list[Progress] = []

    def enough(progress: Progress) -> bool:
        heard.append(progress)
        return progress.evaluations >= 15 or (progress.best is not None and progress.best > -0.5)

    result = run(stopping_rule=enough, selection={"uniform": 1.0})
    assert (result.reason, result.detail) == ("stopping_rule", "")
    assert result.account.evaluations < 40
    last = heard[-1]
    assert (last.evaluations, last.best) == (result.account.evaluations, result.fitness)
    assert [fitness for _, fitness in last.improvements] == sorted({one for one in result.history if one is not None})
    assert used(result) == [
        ("stopping rule", f"{__name__}:test_a_stopping_rule_ends_a_run_by_its_progress.enough", " ")
    ]


def test_a_run_goes_on_with_the_objects_that_it_was_made_with() -> None:
    shorter = run(selection=Greedy(), archive={"kind": Newest, "size": 4}, evaluations=20)
    longer = shorter.extend(evaluations=40)
    assert plain(longer)[: len(shorter.candidates)] == plain(shorter)
    assert longer.account.evaluations == 40
    assert {one["selection"] for one in proposals(longer)} == {f"{__name__}:Greedy"}


def test_an_installed_package_is_named_and_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch)
    result = run(selection={"greedy": 1.0}, archive={"kind": "newest"}, strategy="hill_climber")
    assert used(result) == [
        ("strategy", "hill_climber", f"{NAME} {VERSION}"),
        ("archive", "newest", f"{NAME} {VERSION}"),
        ("selection", "greedy", f"{NAME} {VERSION}"),
    ]


def test_what_fails_ends_the_run_with_its_name_and_keeps_what_was_found() -> None:
    with pytest.raises(RunFailedError) as caught:
        run(selection=Greedy(fails_after=6))
    assert str(caught.value) == f"the run failed: the selection {__name__}:Greedy failed: ValueError: no luck today"
    found = caught.value.result
    assert len(proposals(found)) == 6
    assert found.best is not None
    assert found.events[-1].payload["fitness"] == found.fitness
    assert len([one for one in found.candidates if one["outcome"] == "ok"]) > 1


def test_an_archive_that_is_untrue_ends_the_run() -> None:
    with pytest.raises(RunFailedError, match="Lazy breaks the contract of archives: apply did not do what was decided"):
        run(archive=Lazy)


def test_what_cannot_be_used_is_refused_before_anything_runs() -> None:
    with pytest.raises(UsageError, match="archive is a Newest: give its class"):
        run(archive=Newest(_problem(), ArchiveConfig(), 0))
    with pytest.raises(MissingExtensionError, match="Python finds no module nowhere_at_all"):
        run(selection={"nowhere_at_all:Greedy": 1.0})


def _problem() -> Problem:
    return run(evaluations=1).problem


def test_the_examples_of_the_how_to_run() -> None:
    found = examples(HOW_TO)
    assert len(found) == 9
    space: dict[str, Any] = {"__name__": "shown"}
    for text in found:
        exec(compile(text, str(HOW_TO), "exec"), space)

"""No key of the run configuration is dead: each changes something that can be seen."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from decimal import Decimal
from itertools import combinations
from pathlib import Path, PurePath
from typing import Any

import pytest

from evolve.configuration import NOVELTIES, BudgetConfig, LearningConfig, PromptConfig, RunConfig, VariantConfig
from evolve.errors import ConfigurationError
from evolve.evaluation import PLAIN, Evaluation, Outcome, ScoringRequest
from evolve.events import EventKind
from evolve.money import Money
from evolve.program import Program
from evolve.prompt import PromptRequest, build_prompt
from evolve.proposal import CompletedReply, Individual, Proposal, Reply
from evolve.search.ensemble import EnsembleMember, PolicyRequest
from evolve.search.stopping import Progress
from service.db.engine import open_database
from service.db.log import SqlRunLog
from service.policy.prompt_builder import prompt_builder
from service.policy_settings.settings import PolicySettings
from service.policy_settings.sources import load_policies
from service.ports import LoggedEvent
from service.problems.bundle import pack
from service.problems.configuration import read_config
from service.problems.folder import read_folder
from service.runner.desired_state import RunOrders
from service.runner.run_job import RunJob
from service.runner.run_loop import drive
from service.timestamps import SystemClock
from service.usecases.plan import RunPlan
from service.usecases.prompt_templates import read_templates
from tests.contract.story import RUN, new_run
from tests.databases import sqlite_file
from tests.fakes.vectors import look
from tests.fakes.world import ASKING, TEAM, World, answers, new_search, program, score, toy_problem

SHORT = {"budget": {"evaluations": 90}, "islands": 2, "migration_interval": 10, "concurrency": {"policy": 16}}

# Of each key that shapes the search: another value than the default's, and what else must be set for it to matter.
SEARCH: Mapping[str, tuple[Any, Mapping[str, Any]]] = {
    "strategy": ("best_of_n", {}),
    "stopping_rule": (f"{__name__}:at_once", {}),
    "islands": (3, {}),
    "island_choice": ("bandit", {}),
    "topology": ("none", {}),
    "migrants": ("most_novel", {}),
    "migration_interval": (25, {}),
    "migration_rate": (1.0, {}),
    "reset_after": (10, {}),
    "reset_from": ("better_half", {"reset_after": 4, "islands": 4, "topology": "none", "budget.evaluations": 250}),
    "archive.kind": ("top", {}),
    "archive.size": (3, {"archive.kind": "top"}),
    "archive.front": (4, {"archive.kind": "cvt", "archive.size": 3}),
    "archive.truncation": ("hypervolume", {"archive.kind": "pareto", "archive.size": 3}),
    "archive.neighbours": (1, {"archive.kind": "dominated_novelty", "archive.size": 5}),
    "selection": ({"tournament": 1.0}, {}),
    "selection_options.dirichlet_alpha": (9.0, {"selection": {"dirichlet": 1.0}}),
    "selection_options.objective_weights": ({"smallness": 50.0}, {"selection": {"dirichlet": 1.0}}),
    "selection_options.power_law_exponent": (9.0, {"selection": {"power_law": 1.0}}),
    "selection_options.exploration": (0.0, {"selection": {"ucb": 1.0}}),
    "selection_options.cases": (1.0, {"selection": {"downsampled_lexicase": 1.0}}),
    "operators": ({"crossover": 1.0, "simplify": 1.0}, {}),
    "operator_choice": ("adaptive", {"operators": {"mutate": 1.0, "crossover": 1.0}}),
    "novelty.kind": ("tokens", {"novelty.min_distance": 0.8}),
    "novelty.min_distance": (0.9, {"novelty.kind": "syntax"}),
    "inspirations.top": (0, {}),
    "inspirations.diverse": (0, {}),
    "variants": ([{"islands": [1], "archive.kind": "top", "archive.size": 2}], {}),
    "policy_choice": ("adaptive", {}),
    "prompt_pool": (2, {}),
    "answers": (1, {}),
    "samples": (5, {}),
    "prompt.failures": (0, {}),
    "prompt.rejections": (0, {}),
    "insights.text": ("- rings worked", {}),
    "budget.evaluations": (40, {}),
    "budget.answers": (30, {}),
    "budget.tokens": (200, {}),
    "budget.target": (-5.0, {}),
    "budget.patience": (8, {}),
    "seed": (1, {}),
    "deterministic.window": (3, {}),
}
PROMPT: Mapping[str, Any] = {
    "prompt.system": "Be brief.",
    "prompt.feedback_kb": 0.01,
    "prompt.failures": 0,
    "prompt.rejections": 0,
}
# What shows with several objectives alone.
SEVERAL = {"archive.front", "archive.truncation", "selection_options.objective_weights"}
# The policies with which a key shows.
POLICIES = {"policy_choice": TEAM, "prompt_pool": (replace(ASKING, writes_prompts=True),)}
ELSEWHERE = {
    "prompt.template_dir",
    "insights.every",
    "insights.tokens",
    *(f"learning.{entry.name}" for entry in fields(LearningConfig)),  # tests/unit/search/test_learning.py and others
    "budget.money",
    "budget.wall_seconds",
    "concurrency.policy",
    "concurrency.evaluations",
}


def at_once(progress: Progress) -> bool:
    return progress.evaluations > 20


def keys(kind: type = RunConfig, prefix: str = "") -> Iterator[str]:
    """Every key, dotted."""
    for entry in fields(kind):
        default = getattr(kind(), entry.name)
        if is_dataclass(default):
            yield from keys(type(default), f"{prefix}{entry.name}.")
        else:
            yield f"{prefix}{entry.name}"


def configured(**values: Any) -> RunConfig:
    return read_config([("the short run", SHORT), ("the test", values)])


def story(config: RunConfig, several: bool = False, askings: Sequence[PolicyRequest] = (ASKING,)) -> list[object]:
    """All that a run of the toy world tells: every event, what each proposal showed, and why it ended."""
    toy = toy_problem(several=several)
    world = Telling(toy, choose=lambda waiting: waiting - 1)
    search = new_search(toy, config, askings)
    reason = world.play(search, search.start())
    return [reason, world.shown, [(event.kind, dict(event.payload)) for event in world.log]]


class Telling(World):
    """A world that notes what each proposal is asked with."""

    shown: list[tuple[list[str], list[str]]]

    def _reply(self, search: Any, proposal: Proposal) -> Any:
        look(search, proposal.number, answers(proposal))
        self.shown = [*getattr(self, "shown", []), (_names(proposal.inspirations), _names(proposal.failures))]
        return super()._reply(search, proposal)


def _names(individuals: Any) -> list[str]:
    return [individual.candidate_id for individual in individuals]


def test_every_key_is_tried_here() -> None:
    assert set(keys()) == {*SEARCH, *PROMPT, *ELSEWHERE}


def test_a_story_is_told_twice_alike() -> None:
    assert story(configured()) == story(configured())


@pytest.mark.parametrize("key", SEARCH)
def test_a_key_of_the_search_changes_the_run(key: str) -> None:
    value, others = SEARCH[key]
    shown = key in SEVERAL, POLICIES.get(key, (ASKING,))
    assert story(configured(**others, **{key: value}), *shown) != story(configured(**others), *shown)


def varied() -> Iterator[str]:
    """The keys in which islands may differ."""
    groups = {entry.name for entry in fields(VariantConfig)} - {"islands"}
    return (key for key in keys() if key.partition(".")[0] in groups)


@pytest.mark.parametrize("key", [key for key in varied() if key in SEARCH])
def test_a_key_of_one_island_changes_the_run(key: str) -> None:
    value, others = SEARCH[key]
    config = configured(**others, variants=[{"islands": [1], key: value}])
    assert story(config, key in SEVERAL) != story(configured(**others), key in SEVERAL)


def test_every_kind_of_novelty_refuses_others() -> None:
    stories = [story(configured(**{"novelty.kind": kind, "novelty.min_distance": 0.6})) for kind in NOVELTIES]
    assert all(one != other for one, other in combinations(stories, 2))


def proposal_on(island: int) -> Proposal:
    parent = individual("parent", feedback="slow on case 4, and more " * 20)
    failed = individual("failed", outcome=Outcome.ERROR, reason="ValueError: unlucky")
    return Proposal(
        id="prp_1",
        number=1,
        island=island,
        operator="mutate",
        parent=parent,
        failures=(failed,),
        rejections=(("the answer equals its parent", 5),),
    )


def prompt_of(config: PromptConfig) -> list[str]:
    built = build_prompt(PromptRequest(problem=toy_problem(), proposal=proposal_on(0), config=config), len)
    return [message.content for message in built.messages]


def individual(name: str, **values: Any) -> Individual:
    evaluation = replace(Evaluation(outcome=Outcome.OK, scores={"closeness": -1.0}), **values)
    return Individual(candidate_id=name, program=program(2.0), evaluation=evaluation, fitness=-1.0, measures={})


@pytest.mark.parametrize("key", PROMPT)
def test_a_key_of_the_prompt_changes_it(key: str) -> None:
    name = key.partition(".")[2]
    assert prompt_of(replace(PromptConfig(), **{name: PROMPT[key]})) != prompt_of(PromptConfig())


@pytest.mark.parametrize("key", [key for key in varied() if key in PROMPT])
def test_a_key_of_the_prompts_of_one_island_changes_those(key: str) -> None:
    config = configured(variants=[{"islands": [1], key: PROMPT[key]}])
    build = prompt_builder(PolicySettings(kind="syntax"), toy_problem(), config, {})
    first, second = (build(proposal_on(island), count=len, context_tokens=16384) for island in (0, 1))
    assert first != second
    assert second == prompt_builder(PolicySettings(kind="syntax"), toy_problem(), configured(**{key: PROMPT[key]}), {})(
        proposal_on(0), count=len, context_tokens=16384
    )


def test_the_folder_of_templates_is_that_of_all_islands() -> None:
    assert set(varied()) - {*SEARCH, *PROMPT} == {"prompt.template_dir"}
    with pytest.raises(ConfigurationError, match=r"variants: prompt.template_dir is one folder for all islands"):
        configured(variants=[{"islands": [1], "prompt.template_dir": "texts"}])
    config = configured(**{"prompt.template_dir": "texts"}, variants=[{"islands": [1], "prompt.failures": 1}])
    assert config.on_island(1).prompt == PromptConfig(template_dir="texts", failures=1)


def test_the_folder_of_templates_is_read(tmp_path: Path) -> None:
    for folder in (".", "texts", ".hidden"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "system.txt").write_text(f"Be brief in {folder}")
    (tmp_path / "texts" / "deeper").mkdir()
    (tmp_path / "texts" / "deeper" / "nonsense.txt").write_text("x")
    plan = RunPlan(
        run_id="run_x",
        problem=toy_problem(),
        bundle=pack(read_folder(tmp_path)[0]),
        source=str(tmp_path),
        config=configured(),
        policies=tuple(load_policies("syntax")),
    )
    assert read_templates(plan) == {}
    for folder in (".", "texts", "./texts/", ".hidden", str(tmp_path / "texts")):
        named = replace(plan, config=configured(**{"prompt.template_dir": folder}))
        assert read_templates(named) == {"system": f"Be brief in {PurePath(folder).name or '.'}"}
    inside = replace(plan, config=configured(**{"prompt.template_dir": "texts"}))
    (tmp_path / "texts" / "system.txt").write_text("Changed since.")
    assert read_templates(inside) == {"system": "Be brief in texts"}
    outside = configured(**{"prompt.template_dir": f"../{tmp_path.name}/texts"})
    assert read_templates(replace(plan, config=outside)) == {"system": "Changed since."}


class Counted:
    """Policy and evaluator of the toy world, which count how much of each goes on at once."""

    name = "toy"
    answers, samples = 3, 1
    concurrency = 3
    slots = 4
    waiting = ""
    level = "none"

    def __init__(self) -> None:
        self.problem = toy_problem()
        self.maximum = {"calls": 0, "evaluations": 0}
        self._now = dict.fromkeys(self.maximum, 0)

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        await self._take_part("calls")
        for answer in answers(proposal):
            yield answer
        yield CompletedReply(completions=("toy",), cost=Money(amount=Decimal("0.10"), currency="USD"))

    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        await self._take_part("evaluations")
        return score(self.problem, program)

    async def _take_part(self, what: str) -> None:
        self._now[what] += 1
        self.maximum[what] = max(self.maximum[what], self._now[what])
        for _ in range(50):  # long enough for all that may to come
            await asyncio.sleep(0)
        self._now[what] -= 1


class Deaf:
    """Hears nothing."""

    def committed(self, events: Any, status: Any) -> None:
        """Hear nothing."""


class HurriedClock(SystemClock):
    """A clock on which each look takes a second."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def monotonic(self) -> float:
        """A second more than before."""
        self._seconds += 1
        return self._seconds


def driven(folder: Path, config: RunConfig, clock: SystemClock) -> tuple[Counted, list[LoggedEvent]]:
    database = open_database(sqlite_file(folder / "runs.db"))
    try:
        log = SqlRunLog(database, SystemClock())
        log.create(new_run())
        world = Counted()
        job = RunJob(
            run_id=RUN,
            problem=world.problem,
            config=config,
            policies=[EnsembleMember(policy=world, currency="USD")],
            evaluator=world,
            log=log,
            clock=clock,
            owner="t",
        )
        status = asyncio.run(drive(job, observer=Deaf(), orders=RunOrders()))
        assert status.state == "succeeded"
        return world, list(log.events(RUN))
    finally:
        database.close()


@pytest.mark.parametrize(("key", "what"), [("policy", "calls"), ("evaluations", "evaluations")])
def test_a_key_of_concurrency_bounds_what_goes_on_at_once(tmp_path: Path, key: str, what: str) -> None:
    world, _ = driven(tmp_path, configured(), SystemClock())
    assert world.maximum == {"calls": Counted.concurrency, "evaluations": Counted.slots}
    (tmp_path / "again").mkdir()
    world, _ = driven(tmp_path / "again", configured(**{f"concurrency.{key}": 1}), SystemClock())
    assert world.maximum[what] == 1


def test_the_budget_of_time_ends_a_run(tmp_path: Path) -> None:
    budget = BudgetConfig(evaluations=None, wall_seconds=200.0)
    _, events = driven(tmp_path, replace(configured(), budget=budget), HurriedClock())
    assert events[-1].event.payload["reason"] == "wall_seconds"


def test_the_budget_of_money_ends_a_run(tmp_path: Path) -> None:
    config = read_config([("the test", {"budget": {"evaluations": None, "money": "0.75"}})])
    _, events = driven(tmp_path, config, SystemClock())
    assert events[-1].event.payload["reason"] == "money"
    costs = [entry.event.payload["cost"] for entry in events if entry.event.kind == EventKind.PROPOSAL_ANSWERED]
    # It ends with the eighth; beside it come those under way then, each call being one proposal ahead at most.
    assert 8 <= len(costs) < 8 + 2 * Counted.concurrency
    assert set(costs) == {"0.1 USD"}

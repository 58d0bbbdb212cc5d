"""The plan of a study: methods, mazes, temperatures, budgets, and the settings of searches to try."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Self

from evolve.configuration import (
    ArchiveConfig,
    BudgetConfig,
    ConcurrencyConfig,
    InspirationsConfig,
    PromptConfig,
    RunConfig,
)
from training.measures import KS

BASE, GRPO, MAX_AT_K, CHAIN, VPO = "base", "grpo", "max_at_k", "multi_rlvr_best", "vpo"
MARGINAL = "vpo_marginal"
NAMES: Mapping[str, str] = MappingProxyType(
    {
        BASE: "warm start",
        GRPO: "GRPO",
        MAX_AT_K: "Max@k",
        CHAIN: "best of chain",
        VPO: "VPO",
        MARGINAL: "VPO with credit by answer",
    }
)
SEARCHED = (BASE, GRPO, VPO)
BESIDE = (MAX_AT_K, CHAIN, MARGINAL)
OTHERS = (GRPO, MAX_AT_K, CHAIN)  # whom VPO is compared with, method by method
KINDS = ("small", "hard")
HARD = "hard"
PLAIN = 1.0
ISLANDS = "islands"
STRATEGIES = (ISLANDS, "best_of_n", "sequential")
MEASURED_ON, CHOSEN_ON, SEARCHED_ON = "test", "validation", "questions"
# Answers of one proposal, whatever the length of its chains.
PROPOSED = 8
# A policy that repeats itself spends answers and no evaluations: a search ends when it has used so many for each.
MAX_ANSWERS_FOR_EACH = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyScope:
    """The size of a study.

    Attributes:
        mazes: of the test split, by kind.
        answers: to each maze.
        base_answers: of the warm start to each hard maze, for the reach of plain sampling.
        validated: mazes of the validation split for choosing temperatures.
        temperatures: to choose from, including 1.
        budgets: evaluations at which searches are compared. The last is their length.
        questions: hard mazes for searches.
        tuned, tuned_evaluations: validation mazes and evaluations for choosing settings and temperatures of searches.
        search_temperatures: to choose those of searches from, including 1.
        search_seeds: searches on each maze with each policy.
        searched: methods that search with every strategy.
        beside: methods that search only with `islands`, at temperature 1 and with the settings of the others.
        own_temperatures: whether searches also run at each method's own temperature.
    """

    mazes: Mapping[str, int]
    answers: int = 64
    base_answers: int = 256
    validated: int = 60
    temperatures: Sequence[float] = (0.7, 1.0, 1.3, 1.6, 2.0)
    budgets: Sequence[int] = (64, 128, 256, 512)
    questions: int = 100
    tuned: int = 30
    tuned_evaluations: int = 256
    search_temperatures: Sequence[float] = (0.7, 1.0, 1.3)
    search_seeds: int = 1
    strategies: Sequence[str] = STRATEGIES
    searched: Sequence[str] = SEARCHED
    beside: Sequence[str] = BESIDE
    own_temperatures: bool = True

    @property
    def ks(self) -> tuple[int, ...]:
        """Sizes of sets that are looked at."""
        return tuple(k for k in KS if k <= self.answers)

    def at_most(self, mazes: int) -> Self:
        """The same on no more than so many mazes of each kind and split."""
        return replace(
            self,
            mazes={kind: min(count, mazes) for kind, count in self.mazes.items()},
            validated=min(self.validated, mazes),
            questions=min(self.questions, mazes),
            tuned=min(self.tuned, mazes),
        )


FULL = StudyScope(mazes=MappingProxyType({"small": 200, "hard": 100}))
# Enough to see every part at work; its figures mean nothing.
QUICK = StudyScope(
    mazes=MappingProxyType({"small": 3, "hard": 2}),
    answers=16,
    base_answers=32,
    validated=2,
    temperatures=(1.0, 1.3),
    budgets=(16, 32),
    questions=2,
    tuned=2,
    tuned_evaluations=16,
    search_temperatures=(1.0, 1.3),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """Settings of the strategy `islands` to try on validation mazes. The other strategies use none of them."""

    islands: int
    archive: str
    size: int
    selection: str

    @property
    def title(self) -> str:
        """In words."""
        many = "1 island" if self.islands == 1 else f"{self.islands} islands"
        return f"{many}, {self.archive} archive of {self.size}, {self.selection}"

    def configuration(self, strategy: str, evaluations: int, seed: int) -> RunConfig:
        """The configuration of a run. It leaves out inspirations and failures, because small policies do not read them.

        The pace is fixed. By default it depends on the budget, and a short search would not be the start of a longer
        search.
        """
        return RunConfig(
            strategy=strategy,
            islands=self.islands,
            archive=ArchiveConfig(kind=self.archive, size=self.size),
            selection={self.selection: 1.0},
            inspirations=InspirationsConfig(top=0, diverse=0),
            prompt=PromptConfig(failures=0, rejections=0),
            concurrency=ConcurrencyConfig(policy=1),
            budget=BudgetConfig(evaluations=evaluations, answers=MAX_ANSWERS_FOR_EACH * evaluations),
            seed=seed,
        )


# The defaults of a run on several objectives stand first, so that they win where nothing is better.
TRIED = (
    SearchSettings(islands=4, archive="pareto", size=200, selection="dirichlet"),
    SearchSettings(islands=2, archive="pareto", size=200, selection="dirichlet"),
    SearchSettings(islands=1, archive="pareto", size=200, selection="dirichlet"),
    SearchSettings(islands=2, archive="top", size=8, selection="dirichlet"),
    SearchSettings(islands=2, archive="top", size=32, selection="dirichlet"),
    SearchSettings(islands=2, archive="top", size=8, selection="power_law"),
    SearchSettings(islands=2, archive="top", size=8, selection="tournament"),
)


def name_of(method: str) -> str:
    """A method in words."""
    return NAMES.get(method, method)


def in_order(methods: Sequence[str]) -> tuple[str, ...]:
    """Methods in the order in which tables show them, each once."""
    known = list(NAMES)
    return tuple(sorted(set(methods), key=lambda method: (known.index(method) if method in known else 99, method)))

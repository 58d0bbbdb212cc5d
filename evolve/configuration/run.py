"""One run's configuration, and islands of it that differ."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from evolve.configuration.archive import ArchiveConfig
from evolve.configuration.checks import at_least, one_of, registered, shares, within
from evolve.configuration.learning import LearningConfig
from evolve.configuration.pace import BudgetConfig, ConcurrencyConfig, DeterministicConfig
from evolve.configuration.prompt import InsightsConfig, InspirationsConfig, PromptConfig
from evolve.configuration.selection import NoveltyConfig, SelectionOptions
from evolve.errors import ConfigurationError
from evolve.extensions import ExtensionKind, built_in_names

STRATEGIES = built_in_names(ExtensionKind.STRATEGY)
# Strategies that have one island, and operators of their own.
BASELINES = frozenset({"best_of_n", "sequential"})
TOPOLOGIES = ("ring", "full", "random", "none")
MIGRANTS = ("best", "front", "most_novel")
RESETS = ("best", "better_half")
ISLAND_CHOICES = ("turns", "bandit")
OPERATORS = built_in_names(ExtensionKind.OPERATOR)
OPERATOR_CHOICES = ("shares", "adaptive")
POLICY_CHOICES = ("weights", "adaptive")
# Far beyond any use: what is larger is a slip, and would fill the memory before the first candidate.
MAX_ISLANDS = 1000
MAX_ANSWERS = 1000
MAX_PROMPTS = 16
# One island is ahead of several while each would have fewer evaluations (docs/benchmarks.md, Exploration).
EVALUATIONS_OF_AN_ISLAND = 4_000
AUTOMATIC_ISLANDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantConfig:
    """Keys of some islands. None: as for all islands.

    Attributes:
        islands: their numbers, from 0.
    """

    islands: tuple[int, ...]
    archive: ArchiveConfig | None = None
    selection: Mapping[str, float] | None = None
    selection_options: SelectionOptions | None = None
    operators: Mapping[str, float] | None = None
    inspirations: InspirationsConfig | None = None
    novelty: NoveltyConfig | None = None
    prompt: PromptConfig | None = None

    def __post_init__(self) -> None:
        if not self.islands:
            raise ConfigurationError("variants: each needs islands = [numbers]")

    @property
    def own(self) -> Mapping[str, Any]:
        """What differs, by key of the run configuration."""
        own = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "islands"}
        return {name: value for name, value in own.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """One run's configuration; stored with the run.

    Attributes:
        islands: how many; 0: as many as the budget can feed, one for each 4,000 evaluations, 1 to 4, more where
            variants name more. Read, it is the number, which a budget that is extended leaves as it was.
        island_choice: where the next proposal is made: islands take turns, or a `bandit` prefers those that have found
            something better of late.
        topology: where migrants go: the next island of a ring, all others (`full`), one drawn at random, or nowhere.
        migration_interval: evaluations on an island between two migrations from it.
        migration_rate: share of its archive that an island sends along.
        migrants: who that is: the fittest, those that no member dominates (`front`), or of the fitter half those that
            are most novel to the island they go to (`most_novel`).
        reset_after: evaluations without a better best after which an island, unless it is ahead of all others, restarts
            from a survivor; 0: never.
        reset_from: the survivor: the best of all others, or the best of one drawn among the `better_half` of them.
        selection: share by which each selection chooses parents; empty: dirichlet with several objectives, else
            power_law.
        operators: share by which each operator makes children; empty: mutate alone. The baselines have their own.
        operator_choice: `shares`, or `adaptive`: by shares and by how often each operator found something better of
            late.
        variants: islands that differ, and in what.
        policy_choice: which of several policies a proposal is put to: by their `weights`, or `adaptive`: by what each
            brings of late for what it costs, times its weight.
        stopping_rule: a rule of the user's own that ends the run, beside the budget; empty: none.
        prompt_pool: how many prompts compete, the configured one among them; 0 and 1: there is no other.
        answers, samples: m answers per chain and n chains per proposal; 0: as the policy says.
    """

    strategy: str = "islands"
    islands: int = 0
    island_choice: str = "turns"
    topology: str = "ring"
    migration_interval: int = 50
    migration_rate: float = 0.1
    migrants: str = "best"
    reset_after: int = 0
    reset_from: str = "best"
    archive: ArchiveConfig = field(default_factory=ArchiveConfig)
    selection: Mapping[str, float] = field(default_factory=dict)
    selection_options: SelectionOptions = field(default_factory=SelectionOptions)
    operators: Mapping[str, float] = field(default_factory=dict)
    operator_choice: str = "shares"
    novelty: NoveltyConfig = field(default_factory=NoveltyConfig)
    inspirations: InspirationsConfig = field(default_factory=InspirationsConfig)
    variants: tuple[VariantConfig, ...] = ()
    policy_choice: str = "weights"
    answers: int = 0
    samples: int = 0
    stopping_rule: str = ""
    prompt_pool: int = 0
    prompt: PromptConfig = field(default_factory=PromptConfig)
    insights: InsightsConfig = field(default_factory=InsightsConfig)
    learning: LearningConfig = field(default_factory=LearningConfig)
    budget: BudgetConfig = field(default_factory=BudgetConfig)
    seed: int = 0
    deterministic: DeterministicConfig = field(default_factory=DeterministicConfig)
    concurrency: ConcurrencyConfig = field(default_factory=ConcurrencyConfig)

    def __post_init__(self) -> None:
        registered("strategy", self.strategy, ExtensionKind.STRATEGY)
        one_of("island_choice", self.island_choice, ISLAND_CHOICES)
        one_of("topology", self.topology, TOPOLOGIES)
        one_of("migrants", self.migrants, MIGRANTS)
        one_of("reset_from", self.reset_from, RESETS)
        within("islands", self.islands, 0, MAX_ISLANDS)
        object.__setattr__(self, "islands", self.islands or self._automatic())
        for name in ("answers", "samples"):
            within(name, getattr(self, name), 0, MAX_ANSWERS)
        at_least("migration_interval", self.migration_interval, 1)
        within("prompt_pool", self.prompt_pool, 0, MAX_PROMPTS)
        for name in ("reset_after", "seed"):
            at_least(name, getattr(self, name), 0)
        if not 0 <= self.migration_rate <= 1:
            raise ConfigurationError("migration_rate must lie between 0 and 1")
        shares("selection", self.selection, ExtensionKind.SELECTION)
        shares("operators", self.operators, ExtensionKind.OPERATOR)
        one_of("policy_choice", self.policy_choice, POLICY_CHOICES)
        one_of("operator_choice", self.operator_choice, OPERATOR_CHOICES)
        if self.stopping_rule:
            registered("stopping_rule", self.stopping_rule, ExtensionKind.STOPPING_RULE)
        self._check_variants()

    def on_island(self, number: int) -> "RunConfig":
        """The configuration that holds on an island."""
        own = [variant.own for variant in self.variants if number in variant.islands]
        return replace(self, variants=(), **own[0]) if own else self

    @property
    def archives(self) -> tuple[ArchiveConfig, ...]:
        """Those that its islands may keep."""
        return (self.archive, *(variant.archive for variant in self.variants if variant.archive is not None))

    @property
    def selection_options_of_islands(self) -> tuple[SelectionOptions, ...]:
        """Those by which its islands may select."""
        own = (variant.selection_options for variant in self.variants)
        return (self.selection_options, *(options for options in own if options is not None))

    @property
    def extensions(self) -> tuple[tuple[ExtensionKind, str], ...]:
        """Kind and name of all that it names, built-ins among them; each once."""
        mixes = (self.selection, *(variant.selection or {} for variant in self.variants))
        operators = (self.operators, *(variant.operators or {} for variant in self.variants))
        named = [(ExtensionKind.STRATEGY, self.strategy)]
        named += [(ExtensionKind.ARCHIVE, archive.kind) for archive in self.archives]
        named += [(ExtensionKind.SELECTION, name) for mix in mixes for name in mix]
        named += [(ExtensionKind.OPERATOR, name) for mix in operators for name in mix]
        named += [(ExtensionKind.STOPPING_RULE, self.stopping_rule)] if self.stopping_rule else []
        return tuple(dict.fromkeys(named))

    def _automatic(self) -> int:
        """As many islands as the budget can feed, and as variants name."""
        named = [number + 1 for variant in self.variants for number in variant.islands]
        limit = self.budget.evaluations
        fed = AUTOMATIC_ISLANDS if limit is None else max(1, limit // EVALUATIONS_OF_AN_ISLAND)
        return min(MAX_ISLANDS, max(min(AUTOMATIC_ISLANDS, fed), *named, 0))

    def _check_variants(self) -> None:
        named: set[int] = set()
        for number in (number for variant in self.variants for number in variant.islands):
            if not 0 <= number < self.islands:
                raise ConfigurationError(f"variants: there is no island {number}: they are 0 to {self.islands - 1}")
            if number in named:
                raise ConfigurationError(f"variants: island {number} is named twice")
            named.add(number)
        for variant in self.variants:
            try:
                replace(self, variants=(), **variant.own)
            except ConfigurationError as error:
                raise ConfigurationError(f"variants: {error}") from error
            if variant.prompt is not None and variant.prompt.template_dir != self.prompt.template_dir:
                raise ConfigurationError(
                    "variants: prompt.template_dir is one folder for all islands: name it beside variants, not in one"
                )

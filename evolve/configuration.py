"""The configuration of a run: every key a user may set, with its default."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from evolve.errors import ConfigurationError
from evolve.money import Money
from evolve.problem import LARGEST

STRATEGIES = ("islands", "best_of_n", "sequential")
TOPOLOGIES = ("ring", "full", "random", "none")
MIGRANTS = ("best", "front", "rarest")
RESETS = ("best", "better_half")
ISLAND_CHOICES = ("turns", "bandit")
ARCHIVES = ("auto", "grid", "cvt", "dominated_novelty", "pareto", "top")
MEASURED = frozenset({"grid", "cvt", "dominated_novelty"})  # archives over measures
SELECTIONS = (
    "boltzmann",
    "dirichlet",
    "downsampled_lexicase",
    "hypervolume",
    "lexicase",
    "nsga2",
    "nsga3",
    "offspring",
    "power_law",
    "puct",
    "tournament",
    "ucb",
    "uniform",
)
OPERATORS = ("mutate", "crossover", "repair", "simplify")
OPERATOR_CHOICES = ("shares", "adaptive")
NOVELTIES = ("none", "syntax", "tokens")
# Far beyond any use: what is larger is a slip, and would fill the memory before the first candidate.
MOST_ISLANDS = 1000
MOST_ANSWERS = 1000
MOST_CELLS = 10_000  # of a tessellation, and members among which each looks for its neighbours
MOST_NEIGHBOURS = 100
MOST_IN_ORDER = 100_000
MOST_CALLS = 10_000
MOST_EVALUATIONS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveConfig:
    """Which archive an island keeps.

    Attributes:
        kind: `auto` is a grid when the problem has measures, a Pareto archive with several objectives, else top-k.
        size: most individuals an island keeps; of a tessellation (`cvt`) the number of its cells. A grid's size is its
            number of cells.
        front: most individuals that a cell of a grid or a tessellation keeps, none of which dominates another; 1: its
            fittest.
        neighbours: how many of those that are fitter dominated novelty looks at.
    """

    kind: str = "auto"
    size: int = 200
    front: int = 1
    neighbours: int = 3

    def __post_init__(self) -> None:
        _one_of("archive.kind", self.kind, ARCHIVES)
        _at_least("archive.size", self.size, 1)
        if self.kind in {"cvt", "dominated_novelty"} and self.size > MOST_CELLS:
            raise ConfigurationError(f"archive.size must be at most {MOST_CELLS} with archive.kind = {self.kind!r}")
        _within("archive.front", self.front, 1, MOST_CELLS)
        _within("archive.neighbours", self.neighbours, 1, MOST_NEIGHBOURS)


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionOptions:
    """How selections choose.

    Attributes:
        exploration: how much `puct` and `ucb` give for what was seldom tried; 0: nothing.
        cases: share of the cases that `downsampled_lexicase` draws for each choice, at least one case.
    """

    exploration: float = 1.0
    cases: float = 0.25

    def __post_init__(self) -> None:
        if not 0 <= self.exploration <= LARGEST:
            raise ConfigurationError(f"selection_options.exploration must lie between 0 and {LARGEST:g}")
        if not 0 < self.cases <= 1:
            raise ConfigurationError("selection_options.cases must lie above 0 and not beyond 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class InspirationsConfig:
    """How many further programs a prompt shows: the island's best, and different ones."""

    top: int = 2
    diverse: int = 2

    def __post_init__(self) -> None:
        _at_least("inspirations.top", self.top, 0)
        _at_least("inspirations.diverse", self.diverse, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoveltyConfig:
    """How different from its island's archive a program must be to be evaluated.

    Attributes:
        kind: of distance, Jaccard over runs of three words: those of the syntax tree (of Python, else as `tokens`), or
            tokens; `none`: every program is.
        least: distance from the nearest member below which a program is rejected.
    """

    kind: str = "none"
    least: float = 0.1

    def __post_init__(self) -> None:
        _one_of("novelty.kind", self.kind, NOVELTIES)
        if not 0 <= self.least <= 1:
            raise ConfigurationError("novelty.least must lie between 0 and 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptConfig:
    """What a prompt says.

    Attributes:
        system: system message; empty: the template's.
        template_dir: folder whose files replace the built-in templates of the same name.
        feedback_kb: most kilobytes of the parent's feedback shown.
        failures: how many recent failures of the island are shown.
    """

    system: str = ""
    template_dir: str = ""
    feedback_kb: float = 4.0
    failures: int = 3

    def __post_init__(self) -> None:
        _at_least("prompt.feedback_kb", self.feedback_kb, 0)
        _at_least("prompt.failures", self.failures, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetConfig:
    """When a run ends: whichever comes first; None: no such limit.

    Attributes:
        evaluations: candidates evaluated, seeds included.
        answers: answers taken from policies, duplicates and rejected ones included.
        tokens: input and output tokens of the policies.
        money: what the policies cost, in the currency of their prices; one that is named here must be the same.
        wall_seconds: time the run was at work, waiting for a policy included.
        target: fitness at which the run ends (`target` of an objective does so for that objective).
        patience: evaluations without a better best.
    """

    evaluations: int | None = 200
    answers: int | None = None
    tokens: int | None = None
    money: Money | None = None
    wall_seconds: float | None = None
    target: float | None = None
    patience: int | None = None

    def __post_init__(self) -> None:
        for name in ("evaluations", "answers", "tokens", "patience"):
            _at_least(f"budget.{name}", getattr(self, name), 1)
        if self.money is not None and not self.money.amount > 0:
            raise ConfigurationError("budget.money must be above 0")
        if self.wall_seconds is not None and not self.wall_seconds > 0:
            raise ConfigurationError("budget.wall_seconds must be above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeterministicConfig:
    """Results told in proposal order, so that a run is repeatable bit for bit.

    Attributes:
        window: `ask(n)` waits for `tell(n - window)`; 0: not deterministic. Independent of the number of workers.
    """

    window: int = 0

    def __post_init__(self) -> None:
        _within("deterministic.window", self.window, 0, MOST_IN_ORDER)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcurrencyConfig:
    """How much goes on at once; 0: as many as the policy allows, as the machine has cores."""

    policy: int = 0
    evaluations: int = 0

    def __post_init__(self) -> None:
        _within("concurrency.policy", self.policy, 0, MOST_CALLS)
        _within("concurrency.evaluations", self.evaluations, 0, MOST_EVALUATIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantConfig:
    """What some islands have of their own; None: what all have.

    Attributes:
        islands: their numbers, from 0.
    """

    islands: tuple[int, ...]
    archive: ArchiveConfig | None = None
    selection: Mapping[str, float] | None = None
    alpha: float | None = None
    operators: Mapping[str, float] | None = None
    inspirations: InspirationsConfig | None = None

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
        island_choice: where the next proposal is made: islands take turns, or a `bandit` prefers those that have found
            something better of late.
        topology: where migrants go: the next island of a ring, all others (`full`), one drawn at random, or nowhere.
        migration_interval: evaluations on an island between two migrations from it.
        migration_rate: share of its archive that an island sends along.
        migrants: who that is: the fittest, those that no member dominates (`front`), or of the fitter half those that
            are most novel to the island they go to (`rarest`).
        reset_after: evaluations without a better best after which an island, unless it is ahead of all others, restarts
            from a survivor; 0: never.
        reset_from: the survivor: the best of all others, or the best of one drawn among the `better_half` of them.
        selection: share by which each selection chooses parents; empty: dirichlet with several objectives, else
            power_law.
        operators: share by which each operator makes children; empty: mutate alone. The baselines have their own.
        operator_choice: `shares`, or `adaptive`: by shares and by how often each operator found something better of
            late.
        alpha: concentration of the Dirichlet distribution, and exponent of the rank power law.
        variants: islands that differ, and in what.
        answers, samples: m answers per chain and n chains per proposal; 0: as the policy says.
    """

    strategy: str = "islands"
    islands: int = 4
    island_choice: str = "turns"
    topology: str = "ring"
    migration_interval: int = 50
    migration_rate: float = 0.1
    migrants: str = "best"
    reset_after: int = 0
    reset_from: str = "best"
    archive: ArchiveConfig = field(default_factory=ArchiveConfig)
    selection: Mapping[str, float] = field(default_factory=dict)
    alpha: float = 1.0
    selection_options: SelectionOptions = field(default_factory=SelectionOptions)
    operators: Mapping[str, float] = field(default_factory=dict)
    operator_choice: str = "shares"
    novelty: NoveltyConfig = field(default_factory=NoveltyConfig)
    inspirations: InspirationsConfig = field(default_factory=InspirationsConfig)
    variants: tuple[VariantConfig, ...] = ()
    answers: int = 0
    samples: int = 0
    prompt: PromptConfig = field(default_factory=PromptConfig)
    budget: BudgetConfig = field(default_factory=BudgetConfig)
    seed: int = 0
    deterministic: DeterministicConfig = field(default_factory=DeterministicConfig)
    concurrency: ConcurrencyConfig = field(default_factory=ConcurrencyConfig)

    def __post_init__(self) -> None:
        _one_of("strategy", self.strategy, STRATEGIES)
        _one_of("island_choice", self.island_choice, ISLAND_CHOICES)
        _one_of("topology", self.topology, TOPOLOGIES)
        _one_of("migrants", self.migrants, MIGRANTS)
        _one_of("reset_from", self.reset_from, RESETS)
        _within("islands", self.islands, 1, MOST_ISLANDS)
        for name in ("answers", "samples"):
            _within(name, getattr(self, name), 0, MOST_ANSWERS)
        _at_least("migration_interval", self.migration_interval, 1)
        for name in ("reset_after", "seed"):
            _at_least(name, getattr(self, name), 0)
        if not 0 <= self.migration_rate <= 1:
            raise ConfigurationError("migration_rate must lie between 0 and 1")
        if not 0 < self.alpha <= LARGEST:
            raise ConfigurationError(f"alpha must lie above 0 and not beyond {LARGEST:g}")
        _shares("selection", self.selection, SELECTIONS)
        _shares("operators", self.operators, OPERATORS)
        _one_of("operator_choice", self.operator_choice, OPERATOR_CHOICES)
        self._check_variants()

    def on_island(self, number: int) -> "RunConfig":
        """The configuration that holds on an island."""
        own = [variant.own for variant in self.variants if number in variant.islands]
        return replace(self, variants=(), **own[0]) if own else self

    @property
    def archives(self) -> tuple[ArchiveConfig, ...]:
        """Those that its islands may keep."""
        return (self.archive, *(variant.archive for variant in self.variants if variant.archive is not None))

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


def _shares(key: str, shares: Mapping[str, float], known: tuple[str, ...]) -> None:
    for name, share in shares.items():
        _one_of(key, name, known)
        if not 0 <= share <= LARGEST:
            raise ConfigurationError(f"{key}.{name} must lie between 0 and {LARGEST:g}")
    if shares and not sum(shares.values()) > 0:
        verb = "needs" if key == "selection" else "need"
        raise ConfigurationError(f"{key} {verb} a share above 0")


def _one_of(key: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ConfigurationError(f"{key} = {value!r} is unknown: choose one of {', '.join(known)}")


def _within(key: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        bound = f"at least {least}" if value < least else f"at most {most}"
        raise ConfigurationError(f"{key} must be {bound}")


def _at_least(key: str, value: float | None, least: float) -> None:
    if value is not None and not value >= least:
        raise ConfigurationError(f"{key} must be at least {least}")

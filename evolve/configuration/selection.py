"""How parents are selected, and what is new enough to be evaluated."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from evolve.configuration.checks import one_of
from evolve.errors import ConfigurationError
from evolve.extensions import ExtensionKind, built_in_names
from evolve.problem import MAX_MAGNITUDE

SELECTIONS = built_in_names(ExtensionKind.SELECTION)
NOVELTIES = ("none", "syntax", "tokens", "embedding")


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionOptions:
    """How selections choose.

    Attributes:
        dirichlet_alpha: concentration of the weights that `dirichlet` draws: a small one favours single objectives, 1
            is uniform on the simplex, a large one approaches equal weights.
        objective_weights: by objective, how much those weights favour it on average; 1 where an objective is not named.
        power_law_exponent: `power_law` chooses rank r (1 the fittest) with probability proportional to r^-exponent; 0:
            each rank alike.
        exploration: how much `puct` and `ucb` give for what was seldom tried; 0: nothing.
        cases: share of the cases that `downsampled_lexicase` draws for each choice, at least one case.
    """

    dirichlet_alpha: float = 1.0
    objective_weights: Mapping[str, float] = field(default_factory=dict)
    power_law_exponent: float = 2.0
    exploration: float = 1.0
    cases: float = 0.25

    def __post_init__(self) -> None:
        if not 0 < self.dirichlet_alpha <= MAX_MAGNITUDE:
            raise ConfigurationError(
                f"selection_options.dirichlet_alpha must lie above 0 and not beyond {MAX_MAGNITUDE:g}"
            )
        for name, weight in self.objective_weights.items():
            if not 0 <= weight <= MAX_MAGNITUDE:
                raise ConfigurationError(
                    f"selection_options.objective_weights.{name:.80} must lie between 0 and {MAX_MAGNITUDE:g}"
                )
        if not 0 <= self.power_law_exponent <= MAX_MAGNITUDE:
            raise ConfigurationError(f"selection_options.power_law_exponent must lie between 0 and {MAX_MAGNITUDE:g}")
        if not 0 <= self.exploration <= MAX_MAGNITUDE:
            raise ConfigurationError(f"selection_options.exploration must lie between 0 and {MAX_MAGNITUDE:g}")
        if not 0 < self.cases <= 1:
            raise ConfigurationError("selection_options.cases must lie above 0 and not beyond 1")

    def check_objectives(self, objectives: Collection[str]) -> None:
        """Check that the weights are of objectives that a problem has, and leave one that counts.

        Args:
            objectives: their names; empty: they are known once the seed is scored, and are checked then.

        Raises:
            ConfigurationError: they are not, or do not.
        """
        if not objectives:
            return
        for name in self.objective_weights:
            if name not in objectives:
                raise ConfigurationError(
                    f"selection_options.objective_weights: the problem has no objective {name!r:.80}: its objectives"
                    f" are {', '.join(objectives)}"
                )
        if not any(self.objective_weights.get(name, 1.0) > 0 for name in objectives):
            raise ConfigurationError("selection_options.objective_weights needs a weight above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoveltyConfig:
    """How different from its island's archive a program must be to be evaluated.

    Attributes:
        kind: of distance, Jaccard over runs of three words: those of the syntax tree (of Python, else as `tokens`), or
            tokens; the cosine distance of the embeddings that the run's embedder gives; `none`: every program is.
        min_distance: distance from the nearest member below which a program is rejected.
    """

    kind: str = "none"
    min_distance: float = 0.1

    def __post_init__(self) -> None:
        one_of("novelty.kind", self.kind, NOVELTIES)
        if not 0 <= self.min_distance <= 1:
            raise ConfigurationError("novelty.min_distance must lie between 0 and 1")

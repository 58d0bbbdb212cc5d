"""What the method table compares: a method at a size of sets and a concentration, and the recipe of its trainings."""

from dataclasses import dataclass, replace

from evolve.errors import ConfigurationError
from evolve.vpo import METHODS
from evolve.vpo.weights import CONCENTRATED
from training.recipe import Recipe, WarmStart, chain_lengths, reinforcement_of

K = 4  # answers that the methods take the best of, in a chain or among single answers, unless an arm says another
ARMS = (
    "base", "grpo", "gdpo", "maxrl", "random_weighting", "goal_conditioned", "vpo_single", "max_at_k",
    "max_at_k_centred", "vector_max_at_k", "multi_rlvr", "vpo", "vpo_marginal",
)  # fmt: skip
ORDER = (*ARMS[:-2], "multi_rlvr_best", *ARMS[-2:])  # of the rows of tables
EQUAL = "equal"  # a concentration at which all weights are equal
Tables = dict[str, dict[int, list[dict[str, float]]]]  # figures of each maze, by arm and seed


@dataclass(frozen=True, slots=True, kw_only=True)
class TableScope:
    """The size of the comparison: training seeds, steps and their mazes, the learning rate, and test mazes."""

    seeds: int = 5
    steps: int = 60
    mazes: int = 6
    rate: float = 5e-4
    tested: int = 60
    answers: int = 64
    kind: str = "small"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class TrainingArm:
    """What is compared: a method, the size of the sets that it trains for, and the concentration of its weights."""

    method: str
    k: int = K
    alpha: float = 1.0

    @classmethod
    def of(cls, text: str) -> "TrainingArm":
        """The arm that is written `METHOD`, `METHOD@K`, `METHOD~ALPHA` or `METHOD@K~ALPHA`; `~equal`: equal weights.

        Raises:
            ConfigurationError: a size or a concentration is no number.
        """
        name, _, alpha = text.partition("~")
        method, _, size = name.partition("@")
        try:
            concentration = CONCENTRATED if alpha == EQUAL else float(alpha or 1)
            return cls(method=method, k=int(size or K), alpha=concentration)
        except ValueError as error:
            raise ConfigurationError(
                f"{text[:80]!r} is no method with a size or a concentration: write it as max_at_k@16 or vpo~0.25."
            ) from error

    @property
    def title(self) -> str:
        """Its name in tables, with what counts for it."""
        if self.method == "base":
            return "warm start" if self.k == K else f"warm start, chains of {self.k}"
        known = METHODS[self.method]
        parts = [known.title]
        parts += [f"k = {self.k}"] if known.subsets else []
        parts += [f"chains of {self.k}"] if known.chains and self.k != K else []
        weights = "equal weights" if self.alpha == CONCENTRATED else f"alpha = {self.alpha:g}"
        return ", ".join([*parts, weights] if self.alpha != 1 else parts)


def recipe_of(arm: str, seed: int, scope: TableScope) -> Recipe:
    """The recipe of a training: sets of k are chains of k, or subsets of single answers."""
    wanted = TrainingArm.of(arm)
    settings = reinforcement_of(wanted.method, wanted.k)
    known, m = METHODS.get(wanted.method), settings.m
    k = wanted.k if known is not None and known.subsets else None
    settings = replace(
        settings, k=k, alpha=wanted.alpha, steps=scope.steps, mazes=scope.mazes, rate=scope.rate, parents=()
    )
    warm = WarmStart(taught=chain_lengths(m))
    return Recipe(seed=seed, kinds=(scope.kind,), warm_start=warm, reinforcement=settings)

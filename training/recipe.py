"""The recipe of a training run: the model's shape, the warm start and the reinforcement learning."""

from dataclasses import dataclass, field

from evolve.errors import ConfigurationError
from evolve.vpo import METHODS, method_of
from evolve.vpo.weights import CONCENTRATED
from training.vocabulary import MAX_ANSWERS, TAUGHT, WORDS

CHAIN = 4  # answers of a chain, unless told otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A Llama: `hidden` wide, `inner` wide between, tied embeddings, `context` tokens at most."""

    vocabulary: int = len(WORDS)
    hidden: int = 128
    layers: int = 4
    heads: int = 4
    head_size: int = 32
    inner: int = 352
    context: int = 4096
    rope_theta: float = 10_000.0
    epsilon: float = 1e-5


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmStart:
    """Imitation of a noisy demonstrator.

    Attributes:
        steps: updates.
        mazes, chains: mazes of an update, and chains of each of them.
        rate: peak learning rate. It rises over the first 2 % and falls linearly to zero.
        parents: share of the updates in which chains edit a parent.
        taught: lengths of chains to draw from, one for each update. A policy knows no other.
    """

    steps: int = 2000
    mazes: int = 24
    chains: int = 6
    rate: float = 2e-3
    decay: float = 0.01
    parents: float = 0.4
    taught: tuple[int, ...] = TAUGHT

    def __post_init__(self) -> None:
        if not self.taught or not all(1 <= length <= MAX_ANSWERS for length in self.taught):
            raise ConfigurationError(f"a warm start teaches chains of 1 to {MAX_ANSWERS} answers, not {self.taught}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reinforcement:
    """Reinforcement learning by a method of `evolve.vpo`, with an update on fresh rollouts in each step.

    Attributes:
        method: its name.
        k: how many rollouts, or answers, the methods take the best of that have such a number. None: as they choose.
        mazes: prompts of a step.
        answers: answers per prompt, the same for every method: `answers / m` chains.
        m: answers of a chain.
        draws: weights that the rollouts of a prompt share.
        alpha: concentration of the Dirichlet distribution of those weights. 1 is uniform on the simplex. Larger numbers
            favour answers that are good under equal weights.
        rate: initial learning rate. It falls linearly to zero.
        clip: maximum norm of a gradient.
        parents: kinds of mazes whose step is followed by another on the same mazes, which shows parents from the first.
    """

    method: str = "vpo"
    k: int | None = None
    steps: int = 1500
    mazes: int = 16
    answers: int = 32
    m: int = CHAIN
    draws: int = 32
    alpha: float = 1.0
    rate: float = 3e-4
    clip: float = 1.0
    temperature: float = 1.0
    parents: tuple[str, ...] = ("hard", "nine")

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ConfigurationError(
                f"no training method is called {self.method!r}: choose {', '.join(METHODS)}, or base"
            )
        if self.k is not None and not METHODS[self.method].subsets:
            raise ConfigurationError(f"{self.method} takes the best of no subsets: leave k out")
        if not 1 / CONCENTRATED <= self.alpha <= CONCENTRATED:
            raise ConfigurationError(
                f"alpha must be between {1 / CONCENTRATED:g} and {CONCENTRATED:g}, not {self.alpha}"
            )
        if not 1 <= self.m <= MAX_ANSWERS:
            raise ConfigurationError(f"a chain has 1 to {MAX_ANSWERS} answers, not {self.m}")
        if self.answers % self.m or self.answers < 2 * self.m:
            raise ConfigurationError(f"{self.answers} answers a prompt do not make 2 or more chains of {self.m}")
        if self.k is not None and not 1 <= self.k <= self.answers:
            raise ConfigurationError(f"k is 1 to {self.answers}, the answers a prompt, not {self.k}")

    @property
    def goals(self) -> bool:
        """Whether prompts show weights of the objectives."""
        return method_of(self.method).weights == "shown"


def reinforcement_of(method: str, length: int = CHAIN) -> Reinforcement:
    """The settings for a method: chains for methods that reward sets, single answers for the others.

    `base`, the warm start alone, also gets chains.

    Args:
        method: its name.
        length: of chains.

    Raises:
        ConfigurationError: the method does not exist, or chains cannot be of this length.
    """
    if method == "base":
        return Reinforcement(m=length)
    return Reinforcement(method=method, m=length if method in METHODS and METHODS[method].chains else 1)


def chain_lengths(longest: int) -> tuple[int, ...]:
    """The lengths that a warm start teaches for chains of this one: the usual ones, and it."""
    return TAUGHT if longest in TAUGHT else (*TAUGHT, longest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """All of a training run.

    Attributes:
        kinds: mazes trained on, in turn.
        pool: mazes of each kind to draw from.
    """

    seed: int = 0
    kinds: tuple[str, ...] = ("small", "hard")
    pool: int = 4000
    shape: Shape = field(default_factory=Shape)
    warm_start: WarmStart = field(default_factory=WarmStart)
    reinforcement: Reinforcement = field(default_factory=Reinforcement)

    def __post_init__(self) -> None:
        if self.reinforcement.m not in self.warm_start.taught:
            known = ", ".join(map(str, sorted(set(self.warm_start.taught))))
            raise ConfigurationError(
                f"the warm start knows chains of {known} answers, and none of {self.reinforcement.m}: continue it first"
                f" with --method base --base MODEL --warm-steps N --chain-length {self.reinforcement.m}"
            )

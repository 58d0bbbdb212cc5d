"""When and how a run trains the policy that it asks."""

from dataclasses import dataclass

from evolve.configuration.checks import at_least, one_of, within
from evolve.errors import ConfigurationError

LEARNING_OBJECTIVES = ("entropic", "pkpo")
MAX_UPDATES = 100
MAX_VERSIONS = 8
MAX_K = 1000
MAX_MODEL = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningConfig:
    """Updates of the policy within the run. Each makes a version that is asked beside the policy of the start.

    Attributes:
        every: answered proposals between two updates; 0: the policy is not trained.
        model: that the server of the policy serves, as trainers find it: a folder, or a name on the hub. Empty: the
            policy is bundled, or an adapter that names its model.
        after: answered proposals before the first update.
        updates: most updates, failed ones included.
        versions: newest versions that are asked; the policy of the start is always asked, too.
        objective: `entropic` (TTT-Discover), or `pkpo`: the expected best of k answers.
        k, last_k: of `pkpo`, at the first and the last update; linear between.
        rate: learning rate.
        divergence: weight of the penalty for distance to the policy of the start.
        replay: weight of the best answers so far, imitated in proportion to their fitness; 0: none.
    """

    every: int = 0
    model: str = ""
    after: int = 0
    updates: int = 4
    versions: int = 2
    objective: str = "entropic"
    k: int = 8
    last_k: int = 1
    rate: float = 1e-4
    divergence: float = 0.1
    replay: float = 0.0

    def __post_init__(self) -> None:
        if len(self.model) > MAX_MODEL or not self.model.isprintable():
            raise ConfigurationError(f"learning.model must be at most {MAX_MODEL} printable characters")
        at_least("learning.every", self.every, 0)
        at_least("learning.after", self.after, 0)
        within("learning.updates", self.updates, 1, MAX_UPDATES)
        within("learning.versions", self.versions, 1, MAX_VERSIONS)
        one_of("learning.objective", self.objective, LEARNING_OBJECTIVES)
        within("learning.k", self.k, 1, MAX_K)
        within("learning.last_k", self.last_k, 1, MAX_K)
        if not 0 < self.rate <= 1:
            raise ConfigurationError("learning.rate must be above 0 and at most 1")
        at_least("learning.divergence", self.divergence, 0)
        at_least("learning.replay", self.replay, 0)

    def k_of(self, number: int) -> int:
        """The k of an update, from 1."""
        share = (number - 1) / (self.updates - 1) if self.updates > 1 else 0.0
        return round(self.k + (self.last_k - self.k) * share)

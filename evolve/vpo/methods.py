"""The training methods: one name for each, which means the same in every trainer.

A method is an advantage estimator with what a trainer has to prepare for it: whether a completion holds several
answers, which weights a group needs, and whether each answer gets a credit of its own. The first nine are those of the
paper on Vector Policy Optimization (arXiv 2605.22817).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from evolve.errors import RewardError
from evolve.multiobjective.scalarization import Floats
from evolve.vpo import estimators
from evolve.vpo.estimators import Estimator, Options
from evolve.vpo.group import RolloutGroup

GroupWeights = Literal["none", "shared", "shown"]
AnswerCredit = Callable[[Sequence[RolloutGroup], Options], tuple[tuple[Floats, ...], ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A training method.

    Attributes:
        title: its name in the field.
        estimator: gives one advantage a rollout.
        chains: a completion holds several answers; else one.
        weights: what the rollouts of a group need: `none`; `shared`, a draw that the prompt does not show; `shown`, one
            preference, drawn for the prompt and written in it.
        credit: gives one advantage an answer, for the answer's own tokens. The estimator's is then for the tokens
            outside of all answers. None: all tokens of a completion get the estimator's.
        subsets: `k` of the options counts.
    """

    title: str
    estimator: Estimator
    chains: bool = False
    weights: GroupWeights = "none"
    credit: AnswerCredit | None = None
    subsets: bool = False


METHODS: Mapping[str, Method] = MappingProxyType({
    "vpo": Method(title="VPO", estimator=estimators.vpo, chains=True, weights="shared"),
    "vpo_single": Method(title="single-answer VPO", estimator=estimators.vpo, weights="shared"),
    "grpo": Method(title="GRPO", estimator=estimators.grpo),
    "gdpo": Method(title="GDPO", estimator=estimators.gdpo),
    "maxrl": Method(title="MaxRL", estimator=estimators.maxrl),
    "max_at_k": Method(title="Max@k", estimator=estimators.max_at_k, subsets=True),
    "multi_rlvr": Method(title="Multi-RLVR", estimator=estimators.multi_rlvr, chains=True),
    "random_weighting": Method(
        title="Random-Weighting GRPO", estimator=estimators.random_weighting, weights="shared"
    ),
    "goal_conditioned": Method(title="goal-conditioned GRPO", estimator=estimators.grpo, weights="shown"),
    "vector_max_at_k": Method(
        title="vector Max@k", estimator=estimators.vector_max_at_k, weights="shared", subsets=True
    ),
    "vpo_marginal": Method(
        title="VPO with credit by answer",
        estimator=estimators.vpo_marginal,
        chains=True,
        weights="shared",
        credit=estimators.marginal_worths,
        subsets=True,
    ),
    "max_at_k_centred": Method(title="Max@k, centred", estimator=estimators.max_at_k_centred, subsets=True),
    "multi_rlvr_best": Method(title="best of chain", estimator=estimators.multi_rlvr_best, chains=True),
    "entropic": Method(title="entropic utility", estimator=estimators.entropic),
})  # fmt: skip


def method_of(name: str) -> Method:
    """The method of this name.

    Raises:
        RewardError: there is none.
    """
    if name not in METHODS:
        raise RewardError(f"No training method is called {name!r}; there are {', '.join(METHODS)}.")
    return METHODS[name]


def estimator(name: str) -> Estimator:
    """The estimator of the method of this name.

    Raises:
        RewardError: there is no such method.
    """
    return method_of(name).estimator

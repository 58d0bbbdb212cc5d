"""A batch of rollouts to several prompts, as trainers hold it: grouped, estimated and put back in order."""

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from evolve.errors import RewardError
from evolve.multiobjective.scalarization import Floats
from evolve.vpo.estimators import DEFAULT, Options, estimator
from evolve.vpo.group import Rollout, RolloutGroup
from evolve.vpo.reward import Floors

WeightsOf = Callable[[Hashable, int], Floats]


def advantages(
    name: str,
    rollouts: Sequence[Rollout],
    prompts: Sequence[Hashable],
    weights_of: WeightsOf,
    *,
    preference: ArrayLike | None = None,
    floors: Floors | None = None,
    options: Options = DEFAULT,
) -> Floats:
    """The advantage of each rollout of a batch, in its order, (n,).

    Args:
        name: of the estimator.
        rollouts: the reward matrix of each, in any form that `reward_matrix` reads, or None.
        prompts: what each answers; equal ones are a group.
        weights_of: (prompt, number of objectives) to the group's weights. Processes that hold parts of one group agree
            when this depends on nothing else, say a generator seeded by run, step and prompt.
        preference: fixed weights of scalar methods, the same for all groups; None: equal ones.
        floors: the lowest reward of each objective, the same for all groups; None: 0, and negative rewards are refused.
        options: of the estimator.

    Raises:
        RewardError: no estimator is called so, or the rewards make no sense.
    """
    chosen = estimator(name)
    if len(prompts) != len(rollouts):
        raise RewardError(
            f"Each of the {len(rollouts)} rollouts needs the prompt it answers, not {len(prompts)} in all."
        )
    places: dict[Hashable, list[int]] = {}
    for place, prompt in enumerate(prompts):
        places.setdefault(prompt, []).append(place)
    groups = [
        _group(prompt, [rollouts[place] for place in own], weights_of, preference, floors)
        for prompt, own in places.items()
    ]
    found = np.zeros(len(rollouts))
    for own, part in zip(places.values(), chosen(groups, options), strict=True):
        found[own] = part
    return found


def _group(
    prompt: Hashable,
    rollouts: Sequence[Rollout],
    weights_of: WeightsOf,
    preference: ArrayLike | None,
    floors: Floors | None,
) -> RolloutGroup:
    name = f"prompt {prompt!r}, rollout"
    group = RolloutGroup.of(rollouts, preference=preference, floors=floors, name=name)
    drawn = weights_of(prompt, max(group.objectives, 1))
    if not group.objectives:
        return RolloutGroup(rollouts=group.rollouts, preference=group.preference, weights=drawn)
    return RolloutGroup.of(group.rollouts, preference=group.preference, weights=drawn, name=name)

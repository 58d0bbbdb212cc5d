"""A batch of rollouts to several prompts, as trainers hold it: grouped, estimated and put back in order."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from evolve.errors import RewardError
from evolve.multiobjective.scalarization import Floats
from evolve.vpo.estimators import DEFAULT, Options
from evolve.vpo.group import Rollout, RolloutGroup
from evolve.vpo.methods import method_of
from evolve.vpo.reward import Floors

WeightsOf = Callable[[Hashable, int], Floats]
PreferenceOf = Callable[[Hashable], ArrayLike]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BatchAdvantages:
    """The advantages of a batch, in its order.

    Attributes:
        rollouts: (n,), for all tokens of a rollout, or for those outside of its answers.
        answers: for each rollout one number an answer, for its own tokens; None where the method gives the answers no
            credit of their own.
    """

    rollouts: Floats
    answers: tuple[Floats, ...] | None = None


def advantages(
    name: str,
    rollouts: Sequence[Rollout],
    prompts: Sequence[Hashable],
    weights_of: WeightsOf,
    *,
    preference: ArrayLike | PreferenceOf | None = None,
    floors: Floors | None = None,
    options: Options = DEFAULT,
) -> BatchAdvantages:
    """The advantages of a batch under a method.

    Args:
        name: of the method.
        rollouts: the reward matrix of each, in any form that `reward_matrix` reads, or None.
        prompts: what each answers; equal ones are a group.
        weights_of: (prompt, number of objectives) to the group's weights. Processes that hold parts of one group agree
            when this depends on nothing else, say a generator seeded by run, step and prompt.
        preference: fixed weights of scalar methods, the same for all groups, or a function of the prompt; None: equal
            ones. For `goal_conditioned` it is the preference that the prompt shows.
        floors: the lowest reward of each objective, the same for all groups; None: 0, and negative rewards are refused.
        options: of the method.

    Raises:
        RewardError: no method is called so, it lacks a preference, or the rewards make no sense.
    """
    chosen = method_of(name)
    if len(prompts) != len(rollouts):
        raise RewardError(
            f"Each of the {len(rollouts)} rollouts needs the prompt it answers, not {len(prompts)} in all."
        )
    if chosen.weights == "shown" and preference is None:
        raise RewardError(f"The method {name!r} needs the weights that each prompt shows: give them as the preference.")
    places: dict[Hashable, list[int]] = {}
    for place, prompt in enumerate(prompts):
        places.setdefault(prompt, []).append(place)
    groups = [
        _group(prompt, [rollouts[place] for place in own], weights_of, preference, floors)
        for prompt, own in places.items()
    ]
    order = [place for own in places.values() for place in own]
    found = np.zeros(len(rollouts))
    found[order] = np.concatenate([np.empty(0), *chosen.estimator(groups, options)])
    if chosen.credit is None:
        return BatchAdvantages(rollouts=found)
    parts = [part for group in chosen.credit(groups, options) for part in group]
    answers = dict(zip(order, parts, strict=True))
    return BatchAdvantages(rollouts=found, answers=tuple(answers[place] for place in range(len(rollouts))))


def _group(
    prompt: Hashable,
    rollouts: Sequence[Rollout],
    weights_of: WeightsOf,
    preference: ArrayLike | PreferenceOf | None,
    floors: Floors | None,
) -> RolloutGroup:
    name = f"prompt {prompt!r}, rollout"
    fixed = preference(prompt) if callable(preference) else preference
    group = RolloutGroup.of(rollouts, preference=fixed, floors=floors, name=name)
    drawn = weights_of(prompt, max(group.objectives, 1))
    if not group.objectives:
        return replace(group, weights=drawn)
    return RolloutGroup.of(group.rollouts, preference=group.preference, weights=drawn, name=name)

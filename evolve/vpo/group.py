"""Groups: the rollouts to one prompt with the weights they share, the unit that advantage estimators compare within."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evolve.errors import RewardError
from evolve.multiobjective.scalarization import Floats
from evolve.vpo.reward import Floors, checked_weights, rewards_above_floors

Rollout = ArrayLike | Sequence[ArrayLike | None] | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RolloutGroup:
    """What the answers to one prompt are worth; make it with `RolloutGroup.of`, which checks everything.

    Attributes:
        rollouts: one (m_i, k) matrix each, counted from the floors, or None for a rollout without one (nothing could be
            parsed or scored).
        preference: (k,) the fixed weights of scalar methods, which sum to 1.
        weights: (K, k) draws that the group shares; None where no estimator asks for them.
    """

    rollouts: tuple[Floats | None, ...]
    preference: Floats
    weights: Floats | None = None

    @classmethod
    def of(
        cls,
        rollouts: Sequence[Rollout],
        *,
        weights: ArrayLike | None = None,
        preference: ArrayLike | None = None,
        floors: Floors | None = None,
        name: str = "rollout",
    ) -> "RolloutGroup":
        """A group of what rollouts are worth, in any form that `reward_matrix` reads; an empty one counts as missing.

        Args:
            rollouts: one each, in order.
            weights: (K, k).
            preference: (k,), scaled to sum 1; None: equal weights.
            floors: the lowest reward of each objective, at which an answer counts that could not be read; None: 0.
            name: what to call rollouts in an error, before their number.

        Raises:
            RewardError: a matrix or the weights make no sense, their widths differ, or a reward is below its floor.
        """
        width = _width(rollouts, weights, preference, floors, name)
        read = tuple(
            None if rollout is None else rewards_above_floors(rollout, floors, width or None, f"{name} {number}")
            for number, rollout in enumerate(rollouts)
        )
        return cls(
            rollouts=tuple(matrix if matrix is not None and matrix.size else None for matrix in read),
            preference=_preference(preference, width),
            weights=None if weights is None else checked_weights(weights),
        )

    def __len__(self) -> int:
        return len(self.rollouts)

    @property
    def objectives(self) -> int:
        """Number of objectives; 0 when no rollout of the group has a matrix and nothing else tells."""
        return len(self.preference)


def _width(
    rollouts: Sequence[Rollout],
    weights: ArrayLike | None,
    preference: ArrayLike | None,
    floors: Floors | None,
    name: str,
) -> int:
    """The number of objectives: that of the weights, the preference or the floors, or of the first rollout with one."""
    given = {
        "weights have": None if weights is None else checked_weights(weights).shape[1],
        "preference has": None if preference is None else np.size(np.asarray(preference)),
        "floors have": None if floors is None else len(floors),
    }
    told = {owner: width for owner, width in given.items() if width is not None}
    widths = list(told.values())
    if len(set(widths)) > 1:
        said = [f"the {owner} {width}" for owner, width in told.items()]
        raise RewardError(f"The number of objectives differs: {', '.join(said)}.")
    for number, rollout in enumerate(rollouts):
        if widths:
            break
        matrix = None if rollout is None else rewards_above_floors(rollout, name=f"{name} {number}")
        widths += [matrix.shape[1]] if matrix is not None and matrix.size else []
    return widths[0] if widths else 0


def _preference(preference: ArrayLike | None, width: int) -> Floats:
    if preference is None:
        return np.full(width, 1 / max(width, 1))
    fixed = checked_weights(preference)
    if len(fixed) != 1 or fixed.sum() <= 0:
        raise RewardError("The preference must be one weight an objective, not all of them zero.")
    return np.asarray(fixed[0] / fixed.sum())

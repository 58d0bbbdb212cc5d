"""Vector Policy Optimization: the set reward that policies are trained for, and the estimators that train them."""

from evolve.vpo.batch import BatchAdvantages, WeightsOf, advantages
from evolve.vpo.estimators import Advantages, Estimator, Options
from evolve.vpo.group import Rollout, RolloutGroup
from evolve.vpo.methods import METHODS, Method, estimator, method_of
from evolve.vpo.reward import (
    Floors,
    exact_set_reward,
    exact_specialists,
    reward_matrix,
    rewards_above_floors,
    set_reward,
)
from evolve.vpo.vectors import Check, check_vectors
from evolve.vpo.weights import DRAWS, Sampler, draw_weights, sobol

__all__ = [
    "DRAWS",
    "METHODS",
    "Advantages",
    "BatchAdvantages",
    "Check",
    "Estimator",
    "Floors",
    "Method",
    "Options",
    "Rollout",
    "RolloutGroup",
    "Sampler",
    "WeightsOf",
    "advantages",
    "check_vectors",
    "draw_weights",
    "estimator",
    "exact_set_reward",
    "exact_specialists",
    "method_of",
    "reward_matrix",
    "rewards_above_floors",
    "set_reward",
    "sobol",
]

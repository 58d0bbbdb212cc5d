"""Vector Policy Optimization with veRL: a reward function, and an advantage estimator that it registers.

veRL passes an estimator a number for each token and nothing else of the reward, so there are two ways.

Without a change of veRL, the reward function returns the set reward R(S). The estimator `vpo` (or veRL's own `grpo`,
whose deviation has Bessel's correction) computes standard scores of it in the group. The reward function does not know
the step, so a prompt always has the same weights.

With `non_tensor_batch`, the estimator draws new weights at each call. It scores the matrices that the reward function
sends along as JSON, because they may be ragged. veRL passes `non_tensor_batch` to the estimator gdpo, in
`compute_advantage` of `verl/trainer/ppo/ray_trainer.py`. Add `vpo` to that condition.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from evolve.errors import RewardError
from evolve.multiobjective.scalarization import Floats
from evolve.vpo import advantages
from training.adapters.completions import Completion, Judge
from training.adapters.weighting import Weighting, checked

NAME = "vpo"
MATRIX = "vpo_rewards"

ComputeScore = Callable[..., dict[str, Any]]


def score_function(judge: Judge, weighting: Weighting | None = None) -> ComputeScore:
    """A `compute_score` for veRL's `custom_reward_function`.

    Args:
        judge: returns the reward matrix of a completion. Its columns are data_source, ground_truth and extra_info.
        weighting: draws the weights by the seed and the prompt, for which `extra_info["index"]` stands.

    Returns:
        A function of (data_source, solution_str, ground_truth, extra_info) to `score` (R(S)), `vpo_answers` (the number
            of answers) and `vpo_rewards` (their matrix as JSON, null for a completion without one). It raises
            `RewardError` for rewards that are not finite, or if the prompt has no index.
    """
    drawn = weighting or Weighting()

    def compute_score(
        data_source: str,
        solution_str: str,
        ground_truth: Any = None,
        extra_info: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> dict[str, Any]:
        prompt = _prompt(data_source, extra_info or {})
        columns = {"data_source": data_source, "ground_truth": ground_truth, "extra_info": extra_info or {}}
        (matrix,) = checked(judge([Completion(text=solution_str, prompt=prompt, columns=columns)]), [prompt])
        return {
            "score": drawn.value(matrix, 0, prompt),
            "vpo_answers": 0 if matrix is None else len(matrix),
            MATRIX: json.dumps(None if matrix is None else matrix.tolist()),
        }

    return compute_score


def register(weighting: Weighting | None = None, epsilon: float = 1e-6) -> Callable[..., Any]:
    """Register the estimator `vpo` with veRL, for `algorithm.adv_estimator=vpo`. The first registration stays.

    Its standard scores divide by the population deviation plus `epsilon`. A group of equal rewards gets zeros.

    Returns:
        The estimator: (token_level_rewards, response_mask, index, non_tensor_batch) to advantages and returns, both
            (batch, response length).
    """
    from verl.trainer.ppo.core_algos import ADV_ESTIMATOR_REGISTRY, register_adv_est

    if NAME not in ADV_ESTIMATOR_REGISTRY:
        register_adv_est(NAME)(estimator(weighting or Weighting(), epsilon))
    registered: Callable[..., Any] = ADV_ESTIMATOR_REGISTRY[NAME]
    return registered


def estimator(weighting: Weighting, epsilon: float = 1e-6) -> Callable[..., Any]:
    """The estimator itself. It counts its calls, and each call is a step with its own weights."""
    from evolve.vpo import Options

    options, calls = Options(epsilon=epsilon), iter(range(1 << 62))

    def compute_vpo_advantage(
        token_level_rewards: Any,
        response_mask: Any,
        index: Sequence[Any],
        config: Any = None,  # noqa: ARG001 - veRL passes it by name
        non_tensor_batch: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> tuple[Any, Any]:
        step, prompts = next(calls), [str(each) for each in index]
        sent = (non_tensor_batch or {}).get(MATRIX)
        if sent is None:
            values = token_level_rewards.sum(dim=-1).tolist()
            found = advantages(NAME, [[[value]] for value in values], prompts, _single, options=options)
        else:
            found = advantages(
                NAME,
                checked([_read(text) for text in sent], prompts),
                prompts,
                lambda prompt, k: weighting.weights(step, prompt, k),
                options=options,
            )
        spread = token_level_rewards.new_tensor(found.tolist()).unsqueeze(-1) * response_mask
        return spread, spread

    return compute_vpo_advantage


def _single(_: Any, k: int) -> Floats:
    return np.ones((1, k))


def _read(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError) as error:
        raise RewardError(
            f"{MATRIX} holds {str(text)[:60]!r}, which is not JSON: send the value of score_function."
        ) from error


def _prompt(data_source: str, extra_info: Mapping[str, Any]) -> list[Any]:
    if "index" not in extra_info:
        raise RewardError("extra_info has no index: number the rows of the data set, because prompts share weights.")
    return [data_source, str(extra_info.get("split", "")), str(extra_info["index"])]

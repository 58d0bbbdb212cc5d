"""Training methods with veRL (0.9.1): a reward function, and an advantage estimator that it registers.

veRL scores completions in reward workers and computes advantages in its task runner, which are other processes. A
module that `VERL_USE_EXTERNAL_MODULES` names is imported by all of them, so that is where to call `register`. The
reward function sends the reward matrices along as JSON, as they may be ragged. veRL keeps them, and shows an estimator
one number a token; `register` therefore also has veRL's V1 trainer hand over what a batch sent, with its global step.

Where no matrices arrive, training ends with a `RewardError`: the scores alone stand for weights that never change.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import Any

from evolve.errors import RewardError
from evolve.vpo import Options, advantages, method_of
from training.adapters.answer_spans import AnswerSpan, SpansOf, numbered_spans, spread_advantages
from training.adapters.completions import Completion, Judge, goal_of, shown_goal
from training.adapters.weighting import Weighting, checked

NAME = "evolve"  # of the estimator; veRL has a "grpo" and a "gdpo" of its own
VERSION = "0.9"  # of veRL: what hands over the vectors is part of its trainer, and no interface
MATRIX, PROMPT, CUT, GOAL = "vpo_rewards", "vpo_prompt", "vpo_cut", "vpo_goal"
SPANS, TOKENS = "vpo_spans", "vpo_tokens"  # where the answers stand, in characters and in tokens
SETTINGS = (
    "reward.reward_manager.source=importlib reward.reward_manager.name=CutRewardManager"
    " reward.reward_manager.module.path=pkg://training.adapters.verl_reward"
)

ComputeScore = Callable[..., dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRewards:
    """What the reward function sent along with a batch, completion by completion, and the global step."""

    step: int
    extras: Sequence[Mapping[str, Any]]


_SENT: ContextVar[SentRewards | None] = ContextVar("sent_rewards", default=None)


def score_function(judge: Judge, weighting: Weighting | None = None, spans: SpansOf = numbered_spans) -> ComputeScore:
    """A `compute_score` for veRL's `reward.custom_reward_function`.

    Args:
        judge: returns the reward matrix of a completion. Its columns are those of `extra_info`, with data_source,
            ground_truth and extra_info itself.
        weighting: draws the weights by the seed and the prompt, for which `extra_info["index"]` stands.
        spans: finds the answers in a completion, for methods that credit answers.

    Returns:
        A function of (data_source, solution_str, ground_truth, extra_info) to `score`, the set reward under weights of
        the prompt that do not change, for veRL's metrics; `vpo_answers`, how many answers there were; and what the
        estimator needs: their matrix, the prompt, the weights that it shows, where the answers stand, and whether the
        completion was cut off. It raises `RewardError` for rewards that make no sense, or where the prompt has no
        index.
    """
    drawn = weighting or Weighting()

    def compute_score(
        data_source: str,
        solution_str: str,
        ground_truth: Any = None,
        extra_info: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> dict[str, Any]:
        told = extra_info or {}
        prompt = _prompt(data_source, told)
        completion = Completion(
            text=solution_str,
            prompt=prompt,
            columns={**told, "data_source": data_source, "ground_truth": ground_truth, "extra_info": told},
            cut=bool(told.get(CUT)),
        )
        (matrix,) = checked(judge([completion]), [prompt])
        return {
            "score": drawn.value(matrix, 0, prompt),
            "vpo_answers": 0 if matrix is None else len(matrix),
            MATRIX: json.dumps(None if matrix is None else matrix.tolist()),
            PROMPT: json.dumps(prompt),
            GOAL: json.dumps(goal_of(completion)),
            SPANS: json.dumps(spans(solution_str)),
            CUT: "unknown" if told.get(CUT) is None else str(bool(told[CUT])),
        }

    return compute_score


def register(
    weighting: Weighting | None = None, *, method: str = "vpo", options: Options | None = None
) -> Callable[..., Any]:
    """Register a method of `evolve.vpo` with veRL, for `algorithm.adv_estimator=evolve`; the first one stays.

    Each step draws new weights for a prompt, by the seed, the global step and the prompt: a training that is resumed
    draws what it would have drawn.

    Args:
        weighting: how weights are drawn.
        method: its name in `evolve.vpo.METHODS`.
        options: of the method, such as k.

    Returns:
        The estimator: (token_level_rewards, response_mask, index) to advantages and returns, both (batch, response
        length).

    Raises:
        RewardError: there is no such method, or this veRL is of another version than this module was written for.
    """
    from importlib.metadata import version

    made = verl_estimator(weighting or Weighting(), method, options)
    installed = version("verl")
    if not installed.startswith(f"{VERSION}."):
        raise RewardError(f"veRL {installed} is installed, and this adapter needs {VERSION}: pip install verl==0.9.1")
    from verl.trainer.ppo.core_algos import ADV_ESTIMATOR_REGISTRY, register_adv_est
    from verl.trainer.ppo.v1.trainer_base import PPOTrainer

    if NAME not in ADV_ESTIMATOR_REGISTRY:
        register_adv_est(NAME)(made)
        step = PPOTrainer._compute_advantage  # noqa: SLF001 - veRL has no interface for this; the version is checked
        PPOTrainer._compute_advantage = _handing_over(step)  # noqa: SLF001 - as above
    registered: Callable[..., Any] = ADV_ESTIMATOR_REGISTRY[NAME]
    return registered


@contextmanager
def sent(rewards: SentRewards) -> Iterator[None]:
    """Hand over what the reward function sent to the estimator that is called inside."""
    token = _SENT.set(rewards)
    try:
        yield
    finally:
        _SENT.reset(token)


def verl_estimator(weighting: Weighting, method: str = "vpo", options: Options | None = None) -> Callable[..., Any]:
    """The estimator itself, which is called inside of `sent`.

    Raises:
        RewardError: there is no such method.
    """
    credits_answers = method_of(method).credit is not None
    shows_weights = method_of(method).weights == "shown"

    def compute_vpo_advantage(
        token_level_rewards: Any,
        response_mask: Any,
        index: Sequence[Any],
        config: Any = None,
        **_: Any,
    ) -> tuple[Any, Any]:
        _refuse_kl_in_reward(config)
        groups, rewards = [str(each) for each in index], _received(len(index))
        prompts = {group: json.loads(extra[PROMPT]) for group, extra in zip(groups, rewards.extras, strict=True)}
        goals = {group: json.loads(extra[GOAL]) for group, extra in zip(groups, rewards.extras, strict=True)}
        found = advantages(
            method,
            checked([_read(extra[MATRIX]) for extra in rewards.extras], groups),
            groups,
            lambda group, k: weighting.weights(rewards.step, prompts[str(group)], k),
            preference=(lambda group: shown_goal(goals[str(group)], method)) if shows_weights else None,
            options=options or Options(),
        )
        spread = token_level_rewards.new_tensor(found.rollouts.tolist()).unsqueeze(-1) * response_mask
        if credits_answers:
            rows = zip(found.rollouts.tolist(), found.answers or (), _token_spans(rewards.extras), strict=True)
            width = response_mask.shape[-1]
            spread = spread.new_tensor([spread_advantages(*row, width) for row in rows]) * response_mask
        return spread, spread

    return compute_vpo_advantage


def _handing_over(compute_advantage: Callable[..., Any]) -> Callable[..., Any]:
    """VeRL's step of the trainer that computes advantages, with what the reward function sent at hand."""

    @wraps(compute_advantage)
    def handing_over(trainer: Any, batch: Any, metrics: dict[str, Any]) -> Any:
        if trainer.config.algorithm.adv_estimator != NAME:
            return compute_advantage(trainer, batch, metrics)
        with sent(SentRewards(step=int(trainer.global_steps), extras=_extras(batch))):
            return compute_advantage(trainer, batch, metrics)

    return handing_over


def _extras(batch: Any) -> list[Mapping[str, Any]]:
    import transfer_queue

    data = transfer_queue.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=["extra_fields"])
    return [dict(fields or {}).get("reward_extra_info") or {} for fields in data.pop("extra_fields").tolist()]


def _received(count: int) -> SentRewards:
    """What was sent with the batch.

    Raises:
        RewardError: nothing was, or not all that is needed.
    """
    rewards = _SENT.get()
    if rewards is None or len(rewards.extras) != count:
        raise RewardError(
            "The reward vectors did not reach the estimator: train with veRL's V1 trainer (trainer.use_v1=True), and"
            " set VERL_USE_EXTERNAL_MODULES to the module that calls training.adapters.verl.register."
        )
    if any(MATRIX not in extra or PROMPT not in extra for extra in rewards.extras):
        raise RewardError(
            f"A completion came without {MATRIX}: set reward.custom_reward_function.path and .name to the function that"
            " training.adapters.verl.score_function made."
        )
    if any(extra.get(CUT) == "unknown" for extra in rewards.extras):
        raise RewardError(f"Whether completions were cut off is unknown, and cut answers earn rewards: set {SETTINGS}")
    return rewards


def _token_spans(extras: Sequence[Mapping[str, Any]]) -> list[list[AnswerSpan]]:
    if any(TOKENS not in extra for extra in extras):
        raise RewardError(f"Where the answers stand among the tokens is unknown, and each has a credit: set {SETTINGS}")
    return [[(answer, start, end) for answer, start, end in json.loads(extra[TOKENS])] for extra in extras]


def _refuse_kl_in_reward(config: Any) -> None:
    if config is not None and config.get("use_kl_in_reward"):
        raise RewardError(
            "A KL penalty in the reward has no place among reward vectors: set algorithm.use_kl_in_reward=False and"
            " actor_rollout_ref.actor.use_kl_loss=True."
        )


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

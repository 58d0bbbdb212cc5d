"""Vector Policy Optimization with TRL: a reward function for `GRPOTrainer`.

With `scale_rewards="group"` the trainer makes of set rewards the advantages of VPO: their standard scores in the group,
by the deviation with Bessel's correction plus 1e-4, where `evolve.vpo` has the population's plus 1e-6.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from evolve.errors import RewardError
from evolve.multiobjective.scalarization import Floats
from training.adapters.completions import Completion, Judge
from training.adapters.weighting import Weighting, checked

_OWN = frozenset({"completion_ids", "trainer_state", "log_extra", "log_metric", "environments"})


class RewardFunction(Protocol):
    """The callable for TRL: it takes the completions of a process and returns a number for each."""

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float]:
        """The set reward of each completion."""


def set_reward_function(
    judge: Judge, weighting: Weighting | None = None, max_tokens: int | None = None
) -> RewardFunction:
    """A reward function that returns R(S) of each completion, where S is the set of its answers.

    All completions to a prompt are scored under the same weights. These depend only on the seed, the global step and
    the prompt, so a group that is split over processes has the same weights in all of them. A completion without a
    matrix is worth 0 and so discouraged. TRL would leave it out of its group if it were None.

    Args:
        judge: returns the reward matrix of each completion.
        weighting: draws the weights.
        max_tokens: the trainer's `max_completion_length`. A completion of that many tokens counts as cut off.

    Returns:
        The function. It logs `vpo/set_reward`, `vpo/group_std`, `vpo/pool_size` and `vpo/unread` if it gets a
            `log_metric`. It raises `RewardError` for rewards that are not finite or not equally wide in a group.
    """
    drawn = weighting or Weighting()

    def set_reward(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float]:
        step = int(getattr(columns.get("trainer_state"), "global_step", 0))
        asked = _completions(prompts, completions, columns, max_tokens)
        matrices = checked(judge(asked), prompts)
        values = [drawn.value(matrix, step, prompt) for matrix, prompt in zip(matrices, prompts, strict=True)]
        if columns.get("log_metric"):
            _log(columns["log_metric"], values, matrices, prompts)
        return values

    return set_reward


def text_of(completion: Any) -> str:
    """The text of a completion: itself, or the assistant's message in a list of messages.

    Raises:
        RewardError: it is neither.
    """
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Sequence) and all(isinstance(message, Mapping) for message in completion):
        return "".join(
            str(message.get("content") or "") for message in completion if message.get("role") == "assistant"
        )
    raise RewardError(f"A completion is a text or a list of messages, not {type(completion).__name__}.")


def _completions(
    prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any], max_tokens: int | None
) -> list[Completion]:
    if len(prompts) != len(completions):
        raise RewardError(f"There are {len(completions)} completions for {len(prompts)} prompts: pair them.")
    kept = {name: column for name, column in columns.items() if name not in _OWN}
    tokens = columns.get("completion_ids") or [()] * len(prompts)
    return [
        Completion(
            text=text_of(completion),
            prompt=prompt,
            columns={name: column[number] for name, column in kept.items()},
            cut=max_tokens is not None and len(tokens[number]) >= max_tokens,
        )
        for number, (prompt, completion) in enumerate(zip(prompts, completions, strict=True))
    ]


def _log(
    log: Callable[[str, float], None],
    values: Sequence[float],
    matrices: Sequence[Floats | None],
    prompts: Sequence[Any],
) -> None:
    groups: dict[str, list[float]] = {}
    for prompt, value in zip(prompts, values, strict=True):
        groups.setdefault(str(prompt), []).append(value)
    log("vpo/set_reward", float(np.mean(values)))
    log("vpo/group_std", float(np.mean([np.std(group) for group in groups.values()])))
    log("vpo/pool_size", float(np.mean([0 if matrix is None else len(matrix) for matrix in matrices])))
    log("vpo/unread", float(np.mean([matrix is None for matrix in matrices])))

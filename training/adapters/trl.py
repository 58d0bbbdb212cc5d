"""Training methods with TRL: a trainer that takes its advantages from `evolve.vpo`, and a reward function alone.

`method_trainer` trains by any method. `set_reward_function` is for a `GRPOTrainer` of your own: with
`scale_rewards="group"` that makes of set rewards the advantages of VPO, by the deviation with Bessel's correction plus
1e-4, where `evolve.vpo` has the population's plus 1e-6.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from evolve.errors import RewardError
from evolve.multiobjective.scalarization import Floats
from evolve.vpo import BatchAdvantages, Options, advantages, method_of
from evolve.vpo.group import Rollout
from training.adapters.answer_spans import AnswerSpan, SpansOf, numbered_spans, spread_advantages, token_spans
from training.adapters.completions import Completion, Judge, goal_of, shown_goal
from training.adapters.held_out import pool_figures
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
    return _Rewards(judge=judge, weighting=weighting or Weighting(), max_tokens=max_tokens).set_reward


def method_trainer(
    method: str,
    judge: Judge,
    weighting: Weighting | None = None,
    options: Options | None = None,
    spans: SpansOf = numbered_spans,
) -> Callable[..., Any]:
    """A `GRPOTrainer` whose advantages are those of a method of `evolve.vpo`, as in every other trainer.

    Args:
        method: its name in `evolve.vpo.METHODS`.
        judge: returns the reward matrix of each completion.
        weighting: draws the weights of the groups.
        options: of the method, such as k.
        spans: finds the answers in a completion, for methods that credit answers.

    Returns:
        A function that takes what `GRPOTrainer` takes, without `reward_funcs`, and returns the trainer. The reward that
            it logs is the set reward, whatever the method. Of an evaluation it also logs the figures of `pool_figures`.

    Raises:
        RewardError: there is no such method.
    """
    known = method_of(method)
    chosen, drawn = options or Options(), weighting or Weighting()

    def make(**settings: Any) -> Any:
        rewards = _Rewards(judge=judge, weighting=drawn, max_tokens=settings["args"].max_completion_length)

        class MethodTrainer(import_module("trl").GRPOTrainer):  # type: ignore[misc]  # the class is looked up when used
            """TRL's trainer, with other advantages."""

            def _generate_and_score_completions(self, inputs: Any) -> Any:
                output = super()._generate_and_score_completions(inputs)
                if "advantages" not in output:
                    raise RewardError("This TRL computes advantages elsewhere: pip install 'trl>=1.16,<2'")
                training = self.model.training
                group = self.num_generations if training else self.num_generations_eval
                rows = _gathered(rewards.last)
                if not training:
                    for name, value in _held_out([row[0] for row in rows], group).items():
                        self._metrics["eval"][f"vpo/{name}"].append(value)
                found = _own_part(self.accelerator, rows, rewards.last, group, method, chosen, drawn)
                own = output["advantages"].new_tensor(found.rollouts.tolist())
                if known.credit is not None:
                    own = own.new_tensor(_by_token(found, rewards.last, output["completion_ids"], spans, self))
                output["advantages"] = own
                return output

        return MethodTrainer(reward_funcs=rewards.set_reward, **settings)

    return make


@dataclass(slots=True, kw_only=True)
class _Batch:
    """The completions of a process that were scored last, and their matrices."""

    step: int = 0
    completions: Sequence[Completion] = ()
    matrices: Sequence[Floats | None] = ()


@dataclass(slots=True, kw_only=True)
class _Rewards:
    """The set rewards of completions. It keeps the batch that it scored last."""

    judge: Judge
    weighting: Weighting
    max_tokens: int | None
    last: _Batch = field(default_factory=_Batch)

    def set_reward(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float]:
        step = int(getattr(columns.get("trainer_state"), "global_step", 0))
        asked = _completions(prompts, completions, columns, self.max_tokens)
        matrices = checked(self.judge(asked), prompts)
        self.last = _Batch(step=step, completions=asked, matrices=matrices)
        values = [self.weighting.value(matrix, step, prompt) for matrix, prompt in zip(matrices, prompts, strict=True)]
        if columns.get("log_metric"):
            _log(columns["log_metric"], values, matrices, prompts)
        return values


_Row = tuple[Rollout, Any, list[float] | None]  # rewards of a completion, its prompt, and the weights that it shows


def _gathered(batch: _Batch) -> list[_Row]:
    """The completions of all processes, over which a group may be spread."""
    shown: list[_Row] = [
        (matrix, completion.prompt, goal_of(completion))
        for matrix, completion in zip(batch.matrices, batch.completions, strict=True)
    ]
    rows: list[_Row] = import_module("accelerate.utils").gather_object(shown)
    return rows


def _held_out(matrices: Sequence[Rollout], group: int) -> dict[str, float]:
    """The mean figures of held-out prompts."""
    found = [pool_figures(matrices[start : start + group]) for start in range(0, len(matrices), group)]
    shared = set.intersection(*(set(one) for one in found))
    return {name: float(np.mean([one[name] for one in found])) for name in found[0] if name in shared}


def _own_part(
    accelerator: Any,
    rows: Sequence[_Row],
    batch: _Batch,
    group: int,
    method: str,
    options: Options,
    weighting: Weighting,
) -> BatchAdvantages:
    """The advantages of a process's completions."""
    count = len(batch.completions)
    first = accelerator.process_index * count
    prompts, goals = [row[1] for row in rows[::group]], [row[2] for row in rows[::group]]
    shows = method_of(method).weights == "shown"
    found = advantages(
        method,
        [row[0] for row in rows],
        [number // group for number in range(len(rows))],
        lambda place, k: weighting.weights(batch.step, prompts[int(str(place))], k),
        preference=(lambda place: shown_goal(goals[int(str(place))], method)) if shows else None,
        options=options,
    )
    own = slice(first, first + count)
    return BatchAdvantages(rollouts=found.rollouts[own], answers=None if found.answers is None else found.answers[own])


def _by_token(found: BatchAdvantages, batch: _Batch, ids: Any, spans: SpansOf, trainer: Any) -> list[list[float]]:
    """The advantage of each token of completions, padded to the width of their ids."""
    tokenizer = trainer.processing_class

    def text_of(tokens: Sequence[int]) -> str:
        return str(tokenizer.decode(list(tokens), skip_special_tokens=True))

    rows = []
    answers = found.answers or ()
    for chain, own, completion, tokens in zip(found.rollouts, answers, batch.completions, ids.tolist(), strict=True):
        places: list[AnswerSpan] = token_spans(tokens, spans(completion.text), text_of)
        rows.append(spread_advantages(float(chain), own, places, len(tokens)))
    return rows


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

"""Completions as trainers hand them over, and judges that score them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from evolve.domains import Domain, floors_of, grade
from evolve.errors import RewardError
from evolve.vpo import Floors, rewards_above_floors
from evolve.vpo.group import Rollout

Question = TypeVar("Question")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A completion.

    Attributes:
        text: of the policy.
        prompt: a text or a list of messages.
        columns: of the data set, in the prompt's row.
        cut: it ran out of tokens, so an open answer is not complete.
    """

    text: str
    prompt: Any = ""
    columns: Mapping[str, Any] = field(default_factory=dict)
    cut: bool = False


def goal_of(completion: Completion) -> list[float] | None:
    """The weights of the objectives that the prompt shows: the column `weights` of its row. None: it shows none."""
    shown = completion.columns.get("weights")
    return None if shown is None else [float(weight) for weight in shown]


def shown_goal(goal: Sequence[float] | None, method: str) -> Sequence[float]:
    """The weights that a prompt shows.

    Raises:
        RewardError: it shows none.
    """
    if goal is None:
        raise RewardError(
            f"The method {method!r} needs prompts that show weights: give each row of the data a column weights (in"
            " extra_info for veRL), as evolve train data --weights writes them."
        )
    return goal


Judge = Callable[[Sequence[Completion]], Sequence[Rollout]]


def one_by_one(score: Callable[[str], Rollout], floors: Floors | None = None) -> Judge:
    """A judge out of a function from a text to its (m, k) reward matrix; None where nothing could be read.

    Args:
        score: gives the rewards of a completion's answers.
        floors: the lowest reward of each objective, which an answer gets that could not be read. Rewards are counted
            from it. None: 0 for all, and negative rewards are refused.
    """

    def judge(completions: Sequence[Completion]) -> list[Rollout]:
        scored = [score(completion.text) for completion in completions]
        if floors is None:
            return scored
        return [
            None if rollout is None else rewards_above_floors(rollout, floors, name=f"completion {number}")
            for number, rollout in enumerate(scored)
        ]

    return judge


def by_domain(domain: Domain[Question, Answer], m: int, question_of: Callable[[Completion], Question]) -> Judge:
    """A judge that scores completions as a domain does; None for one of which no answer could be read.

    Args:
        domain: parses and scores. Rewards are counted from its floors, if it declares any.
        m: answers that were asked for.
        question_of: finds the question, in a column or in the prompt, as `evolve.domains.maze.read` does.
    """

    def one(number: int, completion: Completion) -> Rollout:
        question = question_of(completion)
        graded = grade(domain, question, completion.text, m, completion.cut)
        if all(answer is None for answer in graded.reply.answers):
            return None
        return rewards_above_floors(graded.rewards, floors_of(domain, question), name=f"completion {number}")

    return lambda completions: [one(number, completion) for number, completion in enumerate(completions)]

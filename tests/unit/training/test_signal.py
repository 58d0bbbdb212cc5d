"""Whether records, and the first updates, hold anything to learn from."""

from typing import Any

import pytest

from evolve.answers.chain import parse_format
from evolve.program import Program
from training.errors import NothingToLearnError
from training.records import Record, Records
from training.signal import PATIENCE, SignalWatch, check_signals


def records(*rewards: tuple[float, ...], prompts: int = 40) -> Records:
    record = Record(
        name="run_1, proposal 1", messages=(), chain_format=parse_format("tags:answer"), edits="rewrite", answers=4,
        parent=Program.of({"a.py": "x\n"}), objectives=("a", "b"), rewards=rewards,
    )  # fmt: skip
    return Records(usable=(record,), passed_over=prompts - 1, prompts=prompts)


@pytest.mark.parametrize(
    ("rewards", "figures"),
    [
        ((), "40 prompts and 0 scored answers"),
        (((0.5, 0.5),), "40 prompts and 1 scored answer"),
        (((0.5, 0.5),) * 3, "40 prompts and 3 scored answers, all with the same rewards"),
    ],
)
def test_records_without_a_difference_point_to_the_warm_start(rewards: Any, figures: str) -> None:
    with pytest.raises(NothingToLearnError, match=f"nothing to learn from: {figures}. Run evolve train sft first"):
        check_signals([records(*rewards)])


def test_records_with_a_difference_are_learnt_from() -> None:
    check_signals([records((0.5, 0.5), (0.5, 0.6))])


def update(std: float) -> dict[str, float]:
    return {"step": 1, "set_reward": 0.0, "group_std": std, "unread": 1.0}


def test_training_ends_after_a_few_updates_without_a_difference() -> None:
    heard: list[Any] = []
    watch = SignalWatch(heard.append, stops=True)
    for _ in range(PATIENCE - 1):
        watch(update(0.0))
    with pytest.raises(
        NothingToLearnError, match=r"set_reward 0.000, group_std 0.000, unread 1.000. Run evolve train sft first"
    ):
        watch(update(0.0))
    assert len(heard) == PATIENCE


def test_a_short_training_without_a_difference_leaves_no_adapter() -> None:
    watch = SignalWatch(lambda _: None, stops=True)
    watch(update(0.0))
    with pytest.raises(NothingToLearnError, match="The first update had nothing"):
        watch.close()


def test_a_single_difference_is_enough_to_go_on() -> None:
    watch = SignalWatch(lambda _: None, stops=True)
    watch(update(0.1))
    for _ in range(2 * PATIENCE):
        watch(update(0.0))
    watch.close()


def test_whoever_asks_to_keep_going_is_not_stopped() -> None:
    watch = SignalWatch(lambda _: None, stops=False)
    for _ in range(2 * PATIENCE):
        watch(update(0.0))
    watch.close()

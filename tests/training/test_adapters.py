"""What holds of the adapters without their frameworks."""

import json
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from evolve.domains import MazeDomain
from evolve.domains.maze import maze_of, read, render
from evolve.errors import RewardError
from evolve.vpo import draw_weights, exact_set_reward, set_reward
from training.adapters import weighting as weighting_module
from training.adapters.completions import Completion, by_domain, one_by_one
from training.adapters.trl import RewardFunction, set_reward_function
from training.adapters.verl import score_function
from training.adapters.weighting import Weighting

FRAMEWORKS = ("torch", "transformers", "trl", "peft", "verl", "datasets", "matplotlib")
ADAPTERS = (
    "training",
    "training.lora",
    *(f"training.adapters.{name}" for name in ("weighting", "completions", "trl", "verl")),
)
EYE = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]


@pytest.mark.parametrize("module", ADAPTERS)
def test_an_adapter_is_imported_without_its_framework(module: str) -> None:
    code = f"import sys, {module}; print([name for name in {FRAMEWORKS} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def from_json(**settings: Any) -> RewardFunction:
    """A reward function for completions that are their own matrix."""
    return set_reward_function(one_by_one(json.loads), Weighting(**settings))


def state(step: int) -> SimpleNamespace:
    return SimpleNamespace(global_step=step)


def test_a_completion_is_worth_the_set_reward_under_the_weights_of_step_and_prompt() -> None:
    weighting = Weighting(seed=3, draws=40, alpha=0.5)
    values = set_reward_function(one_by_one(json.loads), weighting)(
        ["p", "p", "q"], [json.dumps(EYE), "[[0.2, 0.4, 0.6]]", json.dumps(EYE)], trainer_state=state(7)
    )
    assert values == [
        set_reward(EYE, weighting.weights(7, "p", 3)),
        set_reward([[0.2, 0.4, 0.6]], weighting.weights(7, "p", 3)),
        set_reward(EYE, weighting.weights(7, "q", 3)),
    ]


def test_many_weights_approach_the_closed_form() -> None:
    (value,) = from_json(draws=4096, sampler="sobol")(["p"], [json.dumps(EYE)])
    assert value == pytest.approx(exact_set_reward(EYE), abs=2e-3)


def test_halves_of_a_group_in_two_processes_are_valued_as_the_whole_is() -> None:
    texts = [json.dumps([row]) for row in np.random.default_rng(0).random((8, 3)).tolist()]
    whole = from_json(seed=1)(["p"] * 8, texts, trainer_state=state(2))
    halves = [from_json(seed=1)(["p"] * 4, texts[start : start + 4], trainer_state=state(2)) for start in (0, 4)]
    assert whole == halves[0] + halves[1]


@pytest.mark.parametrize("other", [{"seed": 2}, {"step": 3}, {"prompt": "q"}])
def test_weights_change_with_seed_step_and_prompt(other: dict[str, Any]) -> None:
    def weights(seed: int = 1, step: int = 2, prompt: str = "p") -> Any:
        return Weighting(seed=seed).weights(step, prompt, 3)

    assert (weights() == weights()).all()
    assert not (weights() == weights(**other)).any()


def test_messages_are_read_like_texts() -> None:
    prompt = [{"role": "user", "content": "p"}]
    (value,) = from_json(seed=1)([prompt], [[{"role": "assistant", "content": json.dumps(EYE)}]])
    assert value == set_reward(EYE, Weighting(seed=1).weights(0, prompt, 3))


def test_an_unread_completion_is_worth_nothing_and_takes_part() -> None:
    assert from_json()(["p", "p"], ["null", "[]"]) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("texts", "complaint"),
    [
        (["[[1, NaN]]"], "completion 0 holds nan for objective 1 of answer 0"),
        (["[[1, 2]]", "[[1, 2, 3]]"], "completion 1 has 3 objectives where 2 are expected"),
        (["[[1, 0], [0, -0.5]]"], "completion 0 holds -0.5 for objective 1 of answer 1, below its floor of 0"),
        (['[["a"]]'], "completion 0 must be rows of numbers"),
    ],
)
def test_rewards_that_make_no_sense_are_named(texts: list[str], complaint: str) -> None:
    with pytest.raises(RewardError, match=complaint.replace("[", r"\[")):
        from_json()(["p"] * len(texts), texts)


def test_a_judge_that_loses_completions_is_named() -> None:
    with pytest.raises(RewardError, match="2 completions needed scores, and 1 rewards came back"):
        set_reward_function(lambda _: [[[1.0]]])(["p", "p"], ["", ""])


@pytest.mark.parametrize(
    "settings", [{"sampler": "halton"}, {"alpha": 0.0}, {"draws": 0}, {"alpha": float("nan")}, {"seed": -1}]
)
def test_settings_out_of_range_are_refused_before_training(settings: dict[str, Any]) -> None:
    with pytest.raises(RewardError):
        Weighting(**settings)


def test_what_a_group_was_worth_is_logged() -> None:
    logged: dict[str, float] = {}
    texts = ["[[1.0]]", "[[0.0]]", "null", "[[0.5], [0.25]]"]
    from_json()(["p", "p", "q", "q"], texts, log_metric=logged.__setitem__)
    assert logged == {
        "vpo/set_reward": pytest.approx((1 + 0 + 0 + 0.5) / 4),
        "vpo/group_std": pytest.approx((0.5 + 0.25) / 2),
        "vpo/pool_size": pytest.approx((1 + 1 + 0 + 2) / 4),
        "vpo/unread": 0.25,
    }


def test_judges_see_columns_and_whether_a_completion_was_cut() -> None:
    seen: list[Completion] = []

    def judge(completions: Any) -> list[list[float]]:
        seen.extend(completions)
        return [[1.0]] * len(completions)

    columns = {"level": [3, 4], "completion_ids": [[1] * 9, [1] * 10], "trainer_state": state(0), "log_metric": None}
    set_reward_function(judge, max_tokens=10)(["p", "q"], ["x", "y"], **columns)
    assert seen == [
        Completion(text="x", prompt="p", columns={"level": 3}),
        Completion(text="y", prompt="q", columns={"level": 4}, cut=True),
    ]


def test_a_domain_scores_completions() -> None:
    domain, maze = MazeDomain(), maze_of("small", "validation", 0)
    judge = by_domain(domain, 2, lambda completion: read(completion.prompt))
    text = "<route_1> R D </route_1> <route_2> R D </route_2>"
    (rewards,) = judge([Completion(text=text, prompt=f"Walk:\n{render(maze)}\n")])
    assert np.asarray(rewards)[0] == pytest.approx(domain.reward(maze, domain.parse(text, 2).answers[0]))  # type: ignore[arg-type] # it parses
    assert not np.asarray(rewards)[1].any()  # given before


def test_a_domain_that_reads_no_answer_gives_none_so_that_unread_completions_are_counted() -> None:
    logged: dict[str, float] = {}
    maze = render(maze_of("small", "validation", 0))
    judge = by_domain(MazeDomain(), 2, lambda completion: read(completion.prompt))
    reward = set_reward_function(judge)
    reward([maze] * 2, ["I do not know.", "<route_1> R D </route_1>"], log_metric=logged.__setitem__)
    assert logged["vpo/unread"] == 0.5


def test_unread_completions_are_worth_the_floors() -> None:
    texts = ["[[-0.5, -2.0]]", "null", "[null, [-0.9, -2.5]]"]
    reward = set_reward_function(one_by_one(json.loads, floors={"kind": -1.0, "brief": -3.0}))
    first, unread, last = reward(["p"] * 3, texts)
    assert 0 == unread < last < first
    with pytest.raises(
        RewardError, match=r"completion 0 holds -2 for objective brief of answer 0, below its floor of -1"
    ):
        set_reward_function(one_by_one(json.loads, floors={"kind": -1.0, "brief": -1.0}))(["p"], texts[:1])


class Losses(MazeDomain):
    """Mazes whose rewards are losses."""

    def reward(self, question: Any, answer: Any) -> Any:
        return super().reward(question, answer) - 1

    def floors(self, question: Any) -> dict[str, float]:
        return dict.fromkeys(self.objectives(question), -1.0)


def test_a_domain_declares_the_floors_of_its_rewards() -> None:
    maze = render(maze_of("small", "validation", 0))
    text = "<route_1> R D </route_1> <route_2> R D </route_2>"
    plain, lost = (
        by_domain(domain, 2, lambda completion: read(completion.prompt))([Completion(text=text, prompt=maze)])[0]
        for domain in (MazeDomain(), Losses())
    )
    assert np.asarray(lost) == pytest.approx(np.asarray(plain))


def test_a_group_draws_its_weights_once(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []

    def counted(k: int, *args: Any) -> Any:
        drawn.append(k)
        return draw_weights(k, *args)

    monkeypatch.setattr(weighting_module, "draw_weights", counted)
    from_json(seed=41, sampler="sobol")(["p"] * 8, [json.dumps(EYE)] * 8)
    assert drawn.count(3) == 1


def score(text: str, **info: Any) -> dict[str, Any]:
    return score_function(one_by_one(json.loads), Weighting(seed=5))("set", text, "", info)


def test_the_score_for_verl_is_the_set_reward_and_sends_the_matrix_along() -> None:
    scored = score(json.dumps(EYE), index=4, split="train")
    weights = Weighting(seed=5).weights(0, ["set", "train", "4"], 3)
    assert scored == {
        "score": set_reward(EYE, weights),
        "vpo_answers": 3,
        "vpo_rewards": json.dumps(EYE),
        "vpo_prompt": '["set", "train", "4"]',
        "vpo_goal": "null",
        "vpo_spans": "[]",
        "vpo_cut": "unknown",
    }
    unread = score("null", index=4)
    assert (unread["score"], unread["vpo_answers"], unread["vpo_rewards"]) == (0.0, 0, "null")


def test_a_completion_that_verl_cut_off_is_judged_as_cut_off() -> None:
    maze = render(maze_of("small", "validation", 0))
    judge = by_domain(MazeDomain(), 1, lambda completion: read(completion.columns["ground_truth"]))
    compute_score = score_function(judge)
    whole, cut = (
        compute_score("maze", "<answer>RIGHT DOWN", maze, {"index": 0, "vpo_cut": cut}) for cut in (False, True)
    )
    assert (whole["vpo_cut"], cut["vpo_cut"]) == ("False", "True")
    assert (whole["vpo_answers"], cut["vpo_answers"]) == (1, 0)


def test_ragged_scores_for_verl_go_into_one_array() -> None:
    ragged = [score(text, index=0)["vpo_rewards"] for text in ("[[1.0]]", "[[1.0], [0.5]]", "null")]
    assert np.array(ragged).shape == (3,)


def test_a_row_without_an_index_is_refused() -> None:
    with pytest.raises(RewardError, match="extra_info has no index"):
        score("[[1.0]]")

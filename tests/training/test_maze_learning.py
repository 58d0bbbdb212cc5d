"""What an update of a maze policy changes, and what it leaves alone."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evolve.domains.maze import FORMS, best, maze_of, render, reward, steps, symmetric_form, walk
from evolve.domains.maze.words import is_step
from evolve.vpo import METHODS, RolloutGroup, draw_weights
from evolve.vpo.estimators import marginal_worths, vpo_marginal
from tests.conftest import TORCH
from tests.training.tiny_maze import RECIPE, SHAPE, padded, prompt, prompts, random_weights, replies
from training.errors import TrainingError
from training.recipe import Reinforcement, WarmStart, reinforcement_of
from training.vocabulary import WORDS, answer_words, decode, encode, prompt_words

if TYPE_CHECKING or TORCH:
    import torch

    from training import maze, reinforce
    from training.batches import GivenMazes, MazePool
    from training.llama import read_prompts, reply_losses
    from training.maze import RunFolder, TrainingProgress
    from training.reinforce import Experience, advantages_of, choose_parents, draw_goals, policy_loss
    from training.rollouts import Rollouts
    from training.warm_start import Lesson, imitation_loss, lesson, rate_at

pytestmark = pytest.mark.training

MAZE = maze_of("small", "train", 0)
BEST = best(MAZE, np.full(4, 0.25)).moves
SETTINGS = Reinforcement(method="vpo", m=2, answers=4, draws=64)


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def log_probability(weights: Any, ids: list[int], reply: list[int]) -> float:
    """Of a reply to a prompt, token by token, each read as a sequence of its own that shares nothing."""
    total = 0.0
    for place, token in enumerate(reply):
        row = padded([[*ids, *reply[:place]]])
        with torch.no_grad():
            total += float(torch.log_softmax(read_prompts(weights, SHAPE, row.ids, row.lengths).last[0], dim=-1)[token])
    return total


def seen(*chains: tuple[str, ...]) -> "Experience":
    """Chains of two walks each, written to a prompt about one maze, with their rewards."""
    written = padded([encode(answer_words([steps(MAZE, moves) for moves in chain])) for chain in chains])
    rewards = np.stack([np.stack([reward(MAZE, walk(MAZE, moves)) for moves in chain]) for chain in chains])
    return Experience(
        prompts=padded([prompt(MAZE)]),
        rollouts=Rollouts(replies=written, cut=(False,) * len(chains), entropy=1.0),
        rewards=(rewards,),
        moves=(tuple(moves for chain in chains for moves in chain),),
    )


def lengths_of(rows: list[list[int]]) -> int:
    return sum(len(row) for row in rows)


def test_the_loss_of_imitation_is_the_mean_over_all_tokens() -> None:
    weights, asked, written = random_weights(), prompts(), replies()
    expected = -sum(log_probability(weights, asked[row // 2], reply) for row, reply in enumerate(written))
    found = imitation_loss(weights, SHAPE, Lesson(prompts=padded(asked), replies=padded(written)))
    assert found.item() == pytest.approx(expected / lengths_of(written), abs=1e-4)


def test_the_loss_of_a_policy_weighs_each_chain_by_its_advantage() -> None:
    weights, found = random_weights(), seen(("RRDD", "U"), ("U", "DDDD"))
    advantages = np.array([0.75, -2.0])
    written = [row[:length] for row, length in zip(
        found.rollouts.replies.ids.tolist(), found.rollouts.replies.lengths.tolist(), strict=True
    )]  # fmt: skip
    expected = -sum(
        worth * log_probability(weights, prompt(MAZE), reply) for worth, reply in zip(advantages, written, strict=True)
    )
    loss = policy_loss(weights, SHAPE, found, advantages)
    assert loss.item() == pytest.approx(expected / lengths_of(written), abs=1e-4)


def test_lessons_depend_on_their_random_stream_alone() -> None:
    settings = WarmStart(mazes=2, chains=2)
    used, fresh = MazePool(20), MazePool(20)
    lesson(used, "small", settings, np.random.default_rng([0, 1, 0]))
    first, again = (lesson(pool, "small", settings, np.random.default_rng([0, 1, 7])) for pool in (used, fresh))
    assert torch.equal(first.prompts.ids, again.prompts.ids)
    assert torch.equal(first.replies.ids, again.replies.ids)
    other = lesson(fresh, "small", settings, np.random.default_rng([0, 1, 8]))
    assert not torch.equal(first.replies.ids[:1, :4], other.replies.ids[:1, :4]) or len(other.prompts.ids) != 2


@pytest.mark.parametrize("parents", [0.0, 1.0])
def test_lessons_show_parents_as_often_as_they_are_told_to(parents: float) -> None:
    settings = WarmStart(mazes=3, chains=2, parents=parents)
    for number in range(6):
        taught = lesson(MazePool(20), "hard", settings, np.random.default_rng(number))
        asked = [decode(row.tolist()) for row in taught.prompts.ids]
        assert len(taught.replies.ids) == 2 * len(asked) == 6
        assert all(("<parent>" in text) is bool(parents) for text in asked)
        counts = {text.split()[-1] for text in asked}
        said = [decode(row.tolist()) for row in taught.replies.ids]
        assert counts == {f"m{text.count('</route_')}" for text in said}


def test_the_rate_rises_then_falls_to_nothing() -> None:
    rates = [rate_at(step, 1000, 0.5) for step in range(1001)]
    assert max(rates) == rates[19] == rates[20] == pytest.approx(0.5)
    assert rates[0] == pytest.approx(0.5 / 20)
    assert rates[510] == pytest.approx(0.25)
    assert rates[1000] == 0.0
    assert all(rate > 0 for rate in rates[:1000])
    assert rate_at(0, 1, 0.5) > 0


def test_imitation_gets_better(tmp_path: Path) -> None:
    losses: list[float] = []
    recipe = replace(RECIPE, warm_start=WarmStart(steps=30, mazes=3, chains=2, rate=5e-3))
    maze.warm_start(recipe, RunFolder(folder=tmp_path), lambda progress: losses.append(progress.figures["loss"]))
    assert len(losses) == 30
    # Untrained, every word is as likely as every other.
    assert losses[0] == pytest.approx(np.log(recipe.shape.vocabulary), abs=0.5)
    assert np.mean(losses[-5:]) < losses[0] - 1.5


@pytest.mark.parametrize("method", ["vpo", "multi_rlvr", "multi_rlvr_best", "grpo"])
def test_an_update_makes_the_better_chain_likelier_and_the_worse_one_less_likely(method: str) -> None:
    weights, found = random_weights(scale=1.0), seen((BEST, "DDRR"), ("U", "L"))
    assert found.rewards[0][0].mean() > found.rewards[0][1].mean() + 0.05
    advantages = advantages_of(found, replace(SETTINGS, method=method), np.random.default_rng(0))
    assert advantages.shape == (2,)
    assert advantages[0] > 0 > advantages[1]
    before = moves_likelihood(weights, found)
    optimizer = torch.optim.SGD(weights.values(), lr=1e-2)
    policy_loss(weights, SHAPE, found, advantages).backward()
    optimizer.step()
    after = moves_likelihood(weights, found)
    assert after[0] > before[0]
    assert after[1] < before[1]


def test_an_answer_gets_its_own_credit_on_its_own_tokens() -> None:
    weights, found = random_weights(), seen((BEST, "U"), ("DDRR", "L"))
    settings = replace(SETTINGS, method="vpo_marginal")
    advantages = advantages_of(found, settings, np.random.default_rng(0))
    drawn = draw_weights(4, np.random.default_rng(0), settings.draws)
    group = RolloutGroup.of(list(found.rewards[0]), weights=drawn)
    ((first, second),), (chains,) = marginal_worths([group]), vpo_marginal([group])
    for row, (ids, credit) in enumerate(zip(found.rollouts.written, (first, second), strict=True)):
        words = decode(ids).split()
        middle = words.index("<route_2>")
        assert advantages[row, :middle] == pytest.approx(credit[0])
        assert advantages[row, middle : len(words)] == pytest.approx(credit[1])
        assert advantages[row, len(words)] == pytest.approx(chains[row])  # the end of the reply
    losses = reply_losses(weights, SHAPE, found.prompts, found.rollouts.replies)
    expected = (losses.detach().numpy() * advantages).sum() / found.rollouts.replies.lengths.sum().item()
    assert policy_loss(weights, SHAPE, found, advantages).item() == pytest.approx(expected, abs=1e-5)
    assert first[0] > first[1]


def test_goals_are_shown_and_are_what_is_rewarded() -> None:
    goal = np.array([0.0, 1.0, 0.0, 0.0])
    shown, hidden = prompt_words(MAZE, 1, goal=goal), prompt_words(MAZE, 1)
    assert shown == [*hidden[:-1], "0/8", "8/8", "0/8", "0/8", "m1"]
    found = replace(seen((BEST, "U"), ("U", "L")), goals=(goal,))
    settings = replace(SETTINGS, method="goal_conditioned")
    gold = found.rewards[0][..., 1].mean(axis=1)
    expected = (gold - gold.mean()) / (gold.std() + 1e-6) if gold.std() else np.zeros(2)
    assert advantages_of(found, settings, np.random.default_rng(0)) == pytest.approx(expected)
    assert all(
        np.isclose(each.sum(), 1, atol=0.3) and each.max() > 0 for each in draw_goals(50, 1.0, np.random.default_rng(0))
    )


def test_weights_close_to_equal_reward_the_best_answer_under_equal_weights() -> None:
    found = seen((BEST, "U"), ("DDRR", "R"), ("RRD", "DD"), ("D", "RD"))
    concentrated = advantages_of(found, replace(SETTINGS, alpha=1e6), np.random.default_rng(0))
    best = advantages_of(found, replace(SETTINGS, method="multi_rlvr_best"), np.random.default_rng(0))
    spread = advantages_of(found, SETTINGS, np.random.default_rng(0))
    assert concentrated == pytest.approx(best, abs=0.01)
    assert spread != pytest.approx(best, abs=0.01)


def moves_likelihood(weights: Any, found: "Experience") -> list[float]:
    """Log-probability of the moves of each chain; the tags around them are those of every chain."""
    written = found.rollouts.replies
    likelihoods = []
    for reply in written.ids.tolist():
        moves = [place for place, token in enumerate(reply) if is_step(WORDS[token])]
        rows = [log_probability(weights, prompt(MAZE) + reply[:place], [reply[place]]) for place in moves]
        likelihoods.append(sum(rows))
    return likelihoods


@pytest.mark.parametrize("method", [name for name in METHODS if METHODS[name].credit is None])
def test_a_group_whose_chains_are_all_alike_changes_nothing(method: str) -> None:
    weights, found = random_weights(), seen(("RRDD", "U"), ("RRDD", "U"), ("RRDD", "U"))
    advantages = advantages_of(found, replace(SETTINGS, method=method), np.random.default_rng(0))
    assert advantages.tolist() == [0.0, 0.0, 0.0]
    policy_loss(weights, SHAPE, found, advantages).backward()
    assert all(not weight.grad.any() for weight in weights.values() if weight.grad is not None)


def test_parents_are_best_under_some_weights() -> None:
    found = seen((BEST, "DDRR"), ("U", "L"))
    flat = found.rewards[0].reshape(-1, 4)
    chosen = [choose_parents(found, np.random.default_rng(seed))[0] for seed in range(50)]
    for parent in chosen:
        assert parent is not None
        place = found.moves[0].index(parent.moves)
        assert (parent.rewards == flat[place]).all()
        assert not any((other >= flat[place]).all() and (other > flat[place]).all() for other in flat)
    missing = replace(found, moves=((None,) * 4,), rewards=(np.zeros((2, 2, 4)),))
    assert choose_parents(missing, np.random.default_rng(0)) == [None]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_makes_steps_and_shows_parents_of_the_same_mazes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    asked: list[tuple[list[Any], list[Any], Experience]] = []

    def listen(
        weights: Any, shape: Any, settings: Any, mazes: Any, parents: Any, generator: Any, goals: Any
    ) -> Experience:
        assert len(goals) == (len(mazes) if settings.goals else 0)
        found = reinforce.experience(weights, shape, settings, mazes, parents, generator, goals)
        asked.append((list(mazes), list(parents), found))
        return found

    monkeypatch.setattr(maze, "experience", listen)
    settings = reinforcement_of(method)
    settings = replace(settings, steps=4, mazes=2, answers=2 * settings.m, parents=("small",))
    recipe = replace(RECIPE, shape=SHAPE, reinforcement=settings)
    steps_done: list[TrainingProgress] = []
    base = random_weights()
    trained = maze.reinforce(recipe, base, RunFolder(folder=tmp_path), steps_done.append)
    assert [progress.step for progress in steps_done] == [1, 2, 3, 4]
    for first, second in ((asked[0], asked[1]), (asked[2], asked[3])):
        assert first[0] == second[0]
        assert first[1] == [None, None]
        for parent, moves in zip(second[1], first[2].moves, strict=True):
            assert parent.moves in moves if parent else set(moves) == {None}
    assert asked[0][0] != asked[2][0]
    assert all(len(rewards.reshape(-1, 4)) == settings.answers for _, _, found in asked for rewards in found.rewards)
    assert all(torch.isfinite(weight).all() for weight in trained.values())
    assert all(torch.equal(base[name], random_weights()[name]) for name in base)


def test_kinds_without_parents_are_asked_about_once(tmp_path: Path) -> None:
    settings = replace(RECIPE.reinforcement, steps=5, parents=("hard",))
    recipe = replace(RECIPE, kinds=("small", "hard"), shape=SHAPE, reinforcement=settings)
    found: list[tuple[float, float]] = []
    maze.reinforce(
        recipe,
        random_weights(),
        RunFolder(folder=tmp_path),
        lambda progress: found.append((progress.figures["kind_index"], progress.figures["shown"])),
    )
    assert found == [(0, 0), (1, 0), (1, 1), (0, 0), (1, 0)]


def test_a_loss_that_is_not_finite_ends_training_before_it_spoils_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maze, "imitation_loss", lambda weights, *_: sum(w.sum() for w in weights.values()) * np.inf)
    with pytest.raises(TrainingError, match="warm-start has an infinite loss: use another seed"):
        maze.warm_start(RECIPE, RunFolder(folder=tmp_path), lambda _: None)
    assert not [path for path in tmp_path.rglob("*") if path.suffix == ".pt"]


def test_given_mazes_are_drawn_in_their_symmetric_forms() -> None:
    given = [maze_of("small", "train", number) for number in range(2)]
    forms = {render(symmetric_form(maze, form)) for maze in given for form in range(FORMS)}
    rng = np.random.default_rng(3)
    drawn = {render(field.maze) for _ in range(40) for field in GivenMazes(given).draw("hard", 3, rng)}
    assert drawn <= forms
    assert len(drawn) > len(given)

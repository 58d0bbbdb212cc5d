"""The policies that come along, asked by the prompts of runs."""

import pytest

from evolve.domains import MazeDomain, grade
from evolve.domains.maze import maze_of
from service.policy.bundled.model import load_model
from service.policy.bundled.sampling import generate
from service.policy_settings.shipped import find_folder

MAZE = maze_of("small", "validation", 0)
SAMPLES = 8


@pytest.mark.parametrize("wanted", range(1, 9))
@pytest.mark.parametrize("name", ["maze-base", "maze-chain", "maze-vpo", "maze-vpo-marginal"])
def test_whoever_is_asked_for_a_set_writes_one(name: str, wanted: int) -> None:
    model, domain = load_model(find_folder(name)), MazeDomain()
    said = model.render([{"role": "user", "content": domain.prompt(MAZE, wanted)}])
    ids = model.vocabulary.encode(said)
    (chains,) = generate(model, [ids], samples=SAMPLES, max_tokens=120, temperature=1.0, seeds=[1])
    given = [sum(answer is not None for answer in domain.parse(chain.text, wanted).answers) for chain in chains]
    assert sum(given) >= 0.75 * SAMPLES * min(wanted, 4)


def test_who_was_trained_for_single_answers_writes_one() -> None:
    model, domain = load_model(find_folder("maze-grpo")), MazeDomain()
    said = model.render([{"role": "user", "content": domain.prompt(MAZE, 1)}])
    ids = model.vocabulary.encode(said)
    (chains,) = generate(model, [ids], samples=SAMPLES, max_tokens=120, temperature=1.0, seeds=[1])
    graded = [grade(domain, MAZE, chain.text, 1).rewards.mean() for chain in chains]
    # Far above a walk that gets nowhere, which earns what lava it does not step on: a quarter.
    assert sum(score > 0.25 for score in graded) >= 0.75 * SAMPLES

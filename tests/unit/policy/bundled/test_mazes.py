"""The policies that come along, asked by the prompts of runs."""

import pytest

from evolve.domains.maze import MazeDomain, maze_of
from service.policy.bundled.model import load_model
from service.policy.bundled.sampling import generate
from service.policy.bundled.shipped import find_folder

MAZE = maze_of("small", "validation", 0)
SAMPLES = 8


@pytest.mark.parametrize("wanted", range(1, 9))
@pytest.mark.parametrize("name", ["maze-base", "maze-chain", "maze-vpo"])
def test_whoever_is_asked_for_a_set_writes_one(name: str, wanted: int) -> None:
    model, domain = load_model(find_folder(name)), MazeDomain()
    said = model.render([{"role": "user", "content": domain.prompt(MAZE, wanted)}])
    ids = model.vocabulary.encode(said)
    (chains,) = generate(model, [ids], samples=SAMPLES, max_tokens=120, temperature=1.0, seeds=[1])
    given = [sum(answer is not None for answer in domain.parse(chain.text, wanted).answers) for chain in chains]
    assert sum(given) >= 0.75 * SAMPLES * min(wanted, 4)

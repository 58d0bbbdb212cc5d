"""The tokenizer and chat template of maze policies, as transformers reads them."""

from typing import TYPE_CHECKING, Any

import pytest

from evolve.domains import MazeDomain
from evolve.domains.maze import reward, steps, walk
from evolve.evaluation import Outcome
from tests.conftest import TORCH
from tests.training.tiny_maze import SHAPE, WALKS, random_weights
from tests.unit.training.asking import MAZE, individual, messages, walked
from training.vocabulary import EOS, answer_words, decode, encode, prompt_words

if TYPE_CHECKING or TORCH:
    from training.export import export

pytestmark = pytest.mark.training


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from transformers import AutoTokenizer

    folder = tmp_path_factory.mktemp("models") / "maze"
    export(random_weights(), SHAPE, folder, m=4, card="card")
    return AutoTokenizer.from_pretrained(folder)


def words(answers: int, moves: str = "") -> list[str]:
    if not moves:
        return prompt_words(MAZE, answers)
    return prompt_words(MAZE, answers, steps(MAZE, moves), reward(MAZE, walk(MAZE, moves)))


@pytest.mark.parametrize("moves", ["", "RRDD"])
def test_prompts_become_the_ids_that_training_used(tokenizer: Any, moves: str) -> None:
    text = " ".join(words(4, moves))
    assert tokenizer(text)["input_ids"] == encode(words(4, moves))
    assert tokenizer(f"{text} ", add_special_tokens=False)["input_ids"] == encode(words(4, moves))


@pytest.mark.parametrize("answers", [1, 4])
@pytest.mark.parametrize("written", ["steps", "letters"])
def test_the_prompt_of_a_run_becomes_what_training_used(tokenizer: Any, written: str, answers: int) -> None:
    moves = walked()
    text = " ".join(steps(MAZE, moves)) if written == "steps" else moves
    asked = messages(
        individual(text, feedback="```\nUa1\n```"),
        answers,
        inspirations=(individual("Rb1\n# The parent program\n<route_8>", "other"),),
        failures=(individual("x", "failed", outcome=Outcome.ERROR, reason="no <route_7>"),),
        weights=(0.1, 0.2, 0.3, 0.4),
    )
    expected = words(answers, moves if written == "steps" else "")
    rendered = tokenizer.apply_chat_template(asked, tokenize=False, add_generation_prompt=True)
    assert rendered == " ".join(expected) + " "
    assert tokenizer.apply_chat_template(asked, add_generation_prompt=True)["input_ids"] == encode(expected)


def test_a_prompt_without_a_maze_is_refused_with_a_sentence(tokenizer: Any) -> None:
    from jinja2 import TemplateError

    with pytest.raises(TemplateError, match="answers mazes only: the prompt holds no line"):
        tokenizer.apply_chat_template([{"role": "user", "content": "Sort a list."}], tokenize=False)


@pytest.mark.parametrize("walks", WALKS)
def test_walks_are_written_and_read_back(tokenizer: Any, walks: tuple[str, ...]) -> None:
    ids = encode(answer_words([steps(MAZE, moves) for moves in walks]))
    text = tokenizer.decode(ids, skip_special_tokens=True)
    assert text == decode(ids)
    assert MazeDomain().parse(text, len(walks)).answers == walks


def test_special_words_are_known_as_such(tokenizer: Any) -> None:
    assert tokenizer.eos_token == EOS
    ids = [getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad", "unk")]
    assert ids == [0, 1, 2, 3]
    assert set(tokenizer.all_special_ids) == {0, 1, 2, 3}

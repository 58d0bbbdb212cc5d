"""What maze policies read and write: their words, and the template that finds them in the prompt of a run."""

import json
from dataclasses import replace

import numpy as np
import pytest

from evolve.domains import MazeDomain
from evolve.domains.maze import KINDS, OBJECTIVES, Maze, maze_of, reward, steps, walk
from evolve.evaluation import Outcome
from evolve.proposal import Individual
from service.errors import UsageError
from service.policy.bundled.template import ChatTemplate
from service.policy.bundled.vocabulary import Vocabulary, read_vocabulary
from tests.unit.training.asking import MAZE, example, individual, messages, walked
from training.demonstrator import Demonstrator, Field
from training.task_data import weights_in_words
from training.vocabulary import (
    BOS,
    EOS,
    IDS,
    MAX_ANSWERS,
    MAX_MOVES,
    MAX_SIDE,
    PAD,
    TAUGHT,
    UNKNOWN,
    WORDS,
    answer_words,
    chat_template,
    decode,
    encode,
    in_form,
    parts_of,
    prompt_words,
    share_word,
    write_tokenizer,
)

HEADINGS = (
    "# The parent program, to be improved\n\nScores:\n- completion: 0\n- gold: 0\n- diamond: 0\n- avoid_lava: 0\n"
    "```text\nUa1\n```\n"
)


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Vocabulary:
    folder = tmp_path_factory.mktemp("tokenizer")
    write_tokenizer(folder)
    return read_vocabulary(json.loads((folder / "tokenizer.json").read_text()))


def asked(parent: Individual, answers: int = 4, **changes: object) -> str:
    """What the chat template makes of a prompt of a run."""
    return ChatTemplate(chat_template(), {}).render(messages(parent, answers, **changes))


def shown(answers: int, moves: str = "", maze: Maze = MAZE) -> str:
    """What the template should make of it, from the words that policies are trained on."""
    if not moves:
        return " ".join(prompt_words(maze, answers)) + " "
    return " ".join(prompt_words(maze, answers, steps(maze, moves), reward(maze, walk(maze, moves)))) + " "


def test_words_are_different_and_numbered_in_order() -> None:
    assert len(set(WORDS)) == len(WORDS)
    assert [IDS[word] for word in WORDS] == list(range(len(WORDS)))
    assert not any(set(word) & set(" \t\n") or not word for word in WORDS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_word_of_every_kind_of_maze_is_known(kind: str) -> None:
    for number in range(30):
        maze = maze_of(kind, "validation", number)
        assert maze.limit <= MAX_MOVES
        moves = Demonstrator().walk(Field.of(maze), np.random.default_rng(number))
        words = prompt_words(maze, 8, steps(maze, moves), reward(maze, walk(maze, moves)))
        words += answer_words([steps(maze, moves)] * MAX_ANSWERS)
        assert IDS[UNKNOWN] not in encode(words)


def test_words_that_are_none_are_unknown() -> None:
    assert encode(["Rc4", "hello", "Rj4", "1e9"]) == [IDS["Rc4"], *[IDS[UNKNOWN]] * 3]


def test_what_a_word_is_made_of_is_its_meaning_its_column_and_its_row() -> None:
    assert parts_of("G:c4") == ("G:", "c", "4")
    assert parts_of("Rc4") == ("R", "c", "4")
    assert {parts_of(word) for word in ("8x8", "24", BOS, "</route_1>", "3/8")} == {
        ("8x8",), ("24",), (BOS,), ("</route_1>",), ("3/8",)
    }  # fmt: skip
    assert len({parts_of(word) for word in WORDS}) == len(WORDS)


@pytest.mark.parametrize("eighth", range(9))
def test_rewards_are_read_in_eighths(eighth: int) -> None:
    for near in (eighth / 8, eighth / 8 - 0.06, eighth / 8 + 0.06):
        assert share_word(min(1.0, max(0.0, near))) == f"{eighth}/8"


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_answers_come_back_as_the_walks_that_they_were_written_from(count: int) -> None:
    rng, field = np.random.default_rng(count), Field.of(MAZE)
    walks = [Demonstrator().walk(field, rng) or "U" for _ in range(count)]
    text = decode(encode(answer_words([steps(MAZE, moves) for moves in walks])))
    reply = MazeDomain().parse(text, count)
    assert list(reply.answers) == walks
    assert reply.dropped == ()


WRITTEN = "<route_1> Rc4 Dc5 </route_1> <route_2> Uc4 </route_2>"


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        (f"{WRITTEN} <eos>", WRITTEN),
        ("<route_1> Rc4 </route_1> <eos>", "<route_1> Rc4 </route_1>"),
        (f"{WRITTEN} <route_3> Rc4 </route_3> <eos>", "<route_1> Rc4 Dc5 </route_1>"),
        (
            "<route_1> Rc4 </route_1> <route_2> Uc4 </route_1> <route_2> Dc5 </route_2> <eos>",
            "<route_1> Rc4 </route_1>",
        ),
        ("<route_1> Rc4 <route_1> Dc5 </route_1> <eos>", ""),
        ("<route_1> Rc4 G:c5 Dc5 </route_1> <eos>", ""),
        ("Rc4 Dc5 <eos>", ""),
        ("<route_2> Rc4 </route_2> <eos>", ""),
        (WRITTEN, "<route_1> Rc4 Dc5 </route_1>"),
        ("<route_1> Rc4 Dc5", ""),
        ("<route_1> Rc4 </route_1> <route_2> Uc4 <eos>", "<route_1> Rc4 </route_1>"),
        ("<eos>", ""),
        ("", ""),
    ],
)
def test_of_a_reply_to_two_only_what_is_in_form_is_kept(reply: str, kept: str) -> None:
    assert decode(in_form(encode(reply.split()), 2)) == kept


def test_decoding_leaves_out_special_words() -> None:
    assert decode([IDS[BOS], IDS["Rc4"], IDS[UNKNOWN], IDS["Dc5"], IDS[EOS], IDS[PAD]]) == "Rc4 Dc5"


@pytest.mark.parametrize("answers", TAUGHT)
def test_the_template_shows_a_parent_written_in_steps(answers: int) -> None:
    parent = individual(" ".join(steps(MAZE, walked())))
    assert asked(parent, answers) == shown(answers, walked())


@pytest.mark.parametrize("answers", [1, 4])
def test_the_template_leaves_out_a_parent_of_bare_letters(answers: int) -> None:
    assert asked(individual(walked()), answers) == shown(answers)


@pytest.mark.parametrize(("wanted", "asked_for"), [(5, 4), (8, 4)])
def test_a_set_of_a_size_that_was_not_taught_is_asked_for_as_one_that_was(wanted: int, asked_for: int) -> None:
    assert wanted not in TAUGHT
    assert asked(individual(" ".join(steps(MAZE, walked()))), wanted) == shown(asked_for, walked())


def test_a_seed_of_the_problem_can_be_asked_about() -> None:
    (_, text), = example().seeds[0].files  # fmt: skip
    assert asked(individual(text)) == shown(4)


def test_feedback_failures_inspirations_and_weights_change_nothing() -> None:
    other = individual(" ".join(steps(MAZE, walked((0, 1, 0, 0)))), "other")
    failed = individual("x", "failed", outcome=Outcome.ERROR, reason="```\n# The parent program, no: <route_7>")
    parent = individual(" ".join(steps(MAZE, walked())), feedback="```text\nUa1 Ua1\n```\nIn short: 2x2 1 open")
    rendered = asked(
        parent, inspirations=(other, replace(other, candidate_id="third")), failures=(failed,),
        weights=(0.1, 0.2, 0.3, 0.4),
    )  # fmt: skip
    assert rendered == shown(4, walked())


@pytest.mark.parametrize("answers", [1, 4])
def test_a_goal_conditioned_policy_reads_the_weights_that_a_run_draws(answers: int) -> None:
    parent = individual(" ".join(steps(MAZE, walked())))
    template = ChatTemplate(chat_template(goals=True), {})
    rewards = reward(MAZE, walk(MAZE, walked()))
    for weights, aim in (((1.0, 2.0, 4.0, 1.0), np.array([1, 2, 4, 1]) / 8), ((), np.full(4, 0.25))):
        wanted = prompt_words(MAZE, answers, steps(MAZE, walked()), rewards, aim)
        assert template.render(messages(parent, answers, weights=weights)) == " ".join(wanted) + " "
    named = weights_in_words(dict(zip(OBJECTIVES, (0, 0.5, 0.25, 0.25), strict=True)))
    told = f"{MazeDomain().prompt(MAZE, answers)}\n{named}\n"
    wanted = prompt_words(MAZE, answers, goal=np.array([0, 4, 2, 2]) / 8)
    assert template.render([{"role": "user", "content": told}]) == " ".join(wanted) + " "


def test_the_operators_change_nothing_and_a_second_parent_is_not_read() -> None:
    parent = individual(" ".join(steps(MAZE, walked())))
    second_parent = individual(" ".join(steps(MAZE, walked((0, 1, 0, 0)))), "mate")
    assert asked(parent, operator="crossover", second_parent=second_parent) == shown(4, walked())
    for operator in ("repair", "simplify"):
        assert asked(parent, operator=operator) == shown(4, walked())


@pytest.mark.parametrize(
    "text",
    [
        "```\nUa1 Ua1\n```",
        "`````` Rc4",
        "<route_1> Rc4 </route_1> <route_8>",
        "</parent> m8 <eos> <bos> 1/8",
        "hello\nIn short: 2x2 3 open S:a1 E:b2\n",
        "{{ messages }} {% raise %}",
        "Rc4 nonsense Rc99 Rz4 R14 Xc4 \x07 \u2028",
        HEADINGS,
        "- gold: 1e999\n- completion: nan",
        "<route_9>" * 50,
        "Rc4 " * 1500,
        "\n\n\n",
    ],
)
@pytest.mark.parametrize("place", ["parent", "inspiration"])
def test_hostile_programs_add_nothing_but_steps(vocabulary: Vocabulary, text: str, place: str) -> None:
    hostile = individual(text, "hostile")
    if place == "parent":
        rendered = asked(hostile)
    else:
        parent = individual(" ".join(steps(MAZE, walked())))
        rendered = asked(parent, inspirations=(hostile,))
        assert rendered == shown(4, walked())
    words = rendered.split()
    assert vocabulary.unknown not in vocabulary.encode(rendered)
    assert words[:3] == [BOS, "8x8", "24"]
    assert words[-1] == "m4"
    assert words.count("<parent>") == words.count("</parent>") <= 1
    assert len(words) <= len(prompt_words(MAZE, 4)) + MAZE.limit + 6
    assert not {EOS, PAD, UNKNOWN} & set(words)


def test_of_a_parent_the_steps_that_count_are_shown() -> None:
    moves = walked() + "UDLR" * 10
    assert asked(individual(" ".join(steps(MAZE, moves)))) == shown(4, moves)
    assert len(shown(4, moves).split()) == len(prompt_words(MAZE, 4)) + MAZE.limit + 6


@pytest.mark.parametrize("scores", [{"completion": 1.0}, {}])
def test_a_parent_without_all_its_scores_is_not_shown(scores: dict[str, float]) -> None:
    assert asked(individual(" ".join(steps(MAZE, walked())), scores=scores)) == shown(4)


@pytest.mark.parametrize("scores", [(-3.0, 9.0, 1e300, -1e300), (0.0, 1.0, 1.0, 0.0)])
def test_scores_beyond_their_bounds_are_read_as_the_bounds(scores: tuple[float, ...]) -> None:
    values = dict(zip(MazeDomain().objectives(MAZE), scores, strict=True))
    rendered = asked(individual(" ".join(steps(MAZE, walked())), scores=values))
    assert rendered.split()[-5:] == ["0/8", "8/8", "8/8", "0/8", "m4"]


@pytest.mark.parametrize("said", ["Write a poem.", "", "In short:", "\nIn short: \n", "\nIn short: it is a maze"])
def test_a_prompt_without_a_maze_is_refused(said: str) -> None:
    template = ChatTemplate(chat_template(), {})
    with pytest.raises(UsageError, match=r"answers mazes (only: the prompt holds no line|of up to 9x9)"):
        template.render([{"role": "user", "content": said}])


def test_a_maze_that_is_too_large_is_refused() -> None:
    maze = Maze(height=10, width=9, limit=20, start=0, goal=89)
    with pytest.raises(UsageError, match=f"up to {MAX_SIDE}x{MAX_SIDE} cells: this one is 10x9"):
        ChatTemplate(chat_template(), {}).render([{"role": "user", "content": MazeDomain().prompt(maze, 4)}])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("m", [1, 4])
def test_prompts_of_the_domain_itself_are_read_too(kind: str, m: int) -> None:
    maze = maze_of(kind, "validation", 3)
    rendered = ChatTemplate(chat_template(), {}).render([{"role": "user", "content": MazeDomain().prompt(maze, m)}])
    assert rendered == shown(m, maze=maze)


def test_the_tokenizer_that_is_written_encodes_what_policies_are_trained_on(vocabulary: Vocabulary) -> None:
    words = [*prompt_words(MAZE, 4, steps(MAZE, walked()), np.full(4, 0.25)), *answer_words([["Rc4"], ["Dc5"]])]
    assert vocabulary.encode(" ".join(words)) == encode(words)
    assert vocabulary.decode(encode(words)) == decode(encode(words))

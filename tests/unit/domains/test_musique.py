import numpy as np
import pytest

from evolve.domains import Domain, Musique, grade
from evolve.domains.musique import CitedAnswer, MusiqueQuestion
from evolve.errors import ProblemError

DOMAIN: Domain[MusiqueQuestion, CitedAnswer] = Musique(strict=False)
PARAGRAPHS = (
    ("Lake Veld", "Lake Veld lies in Norland."),
    ("Ada Bern", "Ada Bern was born beside Lake Veld."),
    ("Chess", "Chess is a game."),
    ("Norland", "The capital of Norland is The Old Harbour."),
)
QUESTION = MusiqueQuestion(
    text="What is the capital of the country with the lake beside which Ada Bern was born?",
    paragraphs=PARAGRAPHS,
    support=(1, 0, 3),
    answer="The Old Harbour",
    aliases=("Harbour City",),
)


def test_a_full_answer_earns_everything() -> None:
    grades = grade(DOMAIN, QUESTION, "<support>0, 1, 3</support>\n<answer>old harbour.</answer>", 1)
    np.testing.assert_array_equal(grades.rewards, [[1, 1, 1, 1, 1]])
    assert grades.reply.reasons == ("",)
    assert DOMAIN.scalar(grades.rewards[0]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("support", "answer", "vector"),
    [
        ((1,), "Old Harbour", (1, 0, 0, 1, 1)),
        ((0, 3), "the old town harbour", (0, 1, 1, 1, 0.8)),
        ((), "Harbour City", (0, 0, 0, 1, 1)),
        ((2,), "Chess", (0, 0, 0, 1, 0)),
        ((9,), "the", (0, 0, 0, 1, 0)),
    ],
)
def test_hops_and_words_are_scored_apart(support: tuple[int, ...], answer: str, vector: tuple[float, ...]) -> None:
    found = DOMAIN.reward(QUESTION, CitedAnswer(answer=answer, support=support))
    np.testing.assert_allclose(found, vector)
    assert DOMAIN.scalar(found) == pytest.approx((sum(vector[:4]) + 3 * vector[4]) / 7)


@pytest.mark.parametrize(
    ("cited", "support"),
    [
        ("1, 0, 3", (1, 0, 3)),
        ("[1] [0]", (1, 0)),
        ("paragraphs 1 and 3", (1, 3)),
        ("1,1,0,2,3,4,5", (1, 0, 2, 3)),
        ("-", ()),
        ("9" * 5000, ()),
        ("1.5", ()),
        ("1.", (1,)),
        ("3,\n0", (3, 0)),
    ],
)
def test_citations_are_read_as_models_write_them(cited: str, support: tuple[int, ...]) -> None:
    assert DOMAIN.parse(f"<support>{cited}</support><answer>x</answer>").answers == (
        CitedAnswer(answer="x", support=support),
    )


@pytest.mark.parametrize(
    "text", ["", "Old Harbour", "<support>1</support>", "<answer> </answer>", "<response_1></response_1>"]
)
def test_a_reply_without_an_answer_is_a_zero_row_with_a_reason(text: str) -> None:
    grades = grade(DOMAIN, QUESTION, text, 1)
    np.testing.assert_array_equal(grades.rewards, np.zeros((1, 5)))
    assert grades.reply.reasons[0]


def test_answers_of_a_chain_with_equal_rewards_count_once() -> None:
    text = (
        "<response_1><support>1</support><answer>a</answer></response_1>"
        "<response_2><answer>b</answer><support>1, 2</support></response_2>"
        "<response_3><support>3<answer>Harbour City"
    )
    grades = grade(DOMAIN, QUESTION, text, 4)
    np.testing.assert_allclose(grades.rewards, [[1, 0, 0, 1, 0], [0] * 5, [0, 0, 1, 1, 1], [0] * 5])


@pytest.mark.parametrize("m", [1, 3])
def test_the_prompt_numbers_paragraphs_and_shows_a_form_that_is_read(m: int) -> None:
    prompt = DOMAIN.prompt(QUESTION, m)
    assert all(f"[{place}] {title}" in prompt for place, (title, _) in enumerate(PARAGRAPHS))
    form = prompt[prompt.rindex("<response_1>") if m > 1 else prompt.index("<support>") :]
    assert DOMAIN.parse(form, m).answers[0] == CitedAnswer(answer="a name, a date, a few words", support=(0, 4))
    assert "Old" not in prompt.replace("The Old Harbour.", "")


@pytest.mark.parametrize("support", [(), (0, 1, 2, 3, 0), (4,), (-1,)])
def test_questions_that_cannot_be_scored_are_refused(support: tuple[int, ...]) -> None:
    with pytest.raises(ProblemError):
        MusiqueQuestion(text="?", paragraphs=PARAGRAPHS, support=support, answer="x")

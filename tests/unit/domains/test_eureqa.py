import numpy as np
import pytest

from evolve.domains import Domain, Eureqa, grade
from evolve.domains.eureqa import EureqaQuestion
from evolve.errors import ProblemError

DOMAIN: Domain[EureqaQuestion, tuple[str, ...]] = Eureqa(strict=False)
QUESTION = EureqaQuestion(
    narrative="Person A wrote book B. Book B is set in city C. City C lies in country D. Country D borders sea E.",
    masks=("Person A", "book B", "city C", "country D", "sea E"),
    entities=("Ada_Bern", "The_Long_Road:_A_Tale", "Port_Veld", "Norland", "Inner_Sea"),
)


def chain(*names: str) -> str:
    return "\n".join(f"<entity_{letter}>{name}</entity_{letter}>" for letter, name in zip("ABCDE", names, strict=False))


@pytest.mark.parametrize(
    ("names", "vector"),
    [
        (("Ada_Bern", "The_Long_Road:_A_Tale", "Port_Veld", "Norland", "Inner_Sea"), [1, 1, 1, 1, 1]),
        (("ada bern", "long road a tale", "PORT VELD.", "the Norland", "Inner Sea"), [1, 1, 1, 1, 1]),
        (("Ada", "", "Port_Veld", "Sorland", "the"), [0, 0, 1, 0, 0]),
        (("Bern_Ada",), [0, 0, 0, 0, 0]),
    ],
)
def test_names_match_exactly_but_for_their_form(names: tuple[str, ...], vector: list[float]) -> None:
    grades = grade(DOMAIN, QUESTION, chain(*names), 1)
    np.testing.assert_array_equal(grades.rewards, [vector])
    assert DOMAIN.scalar(grades.rewards[0]) == pytest.approx(sum(vector) / 5)


def test_missing_names_are_said() -> None:
    assert DOMAIN.parse("<entity_a>x</entity_a><ENTITY_C>y").reasons == ("no name for B, D, E",)


def test_an_unclosed_name_ends_where_the_next_begins() -> None:
    assert DOMAIN.parse("<entity_A>x\n<entity_B>y").answers == (("x", "y", "", "", ""),)


def test_chains_with_equal_rewards_count_once() -> None:
    chains = (chain("Ada_Bern"), chain("ada bern", "x"), chain("x", "y", "Port Veld"))
    text = "".join(f"<response_{number}>{one}</response_{number}>" for number, one in enumerate(chains, 1))
    grades = grade(DOMAIN, QUESTION, text, 3)
    np.testing.assert_array_equal(grades.rewards, [[1, 0, 0, 0, 0], [0] * 5, [0, 0, 1, 0, 0]])


@pytest.mark.parametrize("text", ["", "Ada_Bern", "<entity_F>x</entity_F>", "<entity_A></entity_A>", "<response_1>"])
def test_a_reply_without_names_is_a_zero_row_with_a_reason(text: str) -> None:
    grades = grade(DOMAIN, QUESTION, text, 2)
    np.testing.assert_array_equal(grades.rewards, np.zeros((2, 5)))
    assert all(grades.reply.reasons)


def test_entities_without_words_are_compared_as_they_stand() -> None:
    question = EureqaQuestion(narrative="", masks=("m",) * 5, entities=("!!!", "???", "a", "b", "c"))
    np.testing.assert_array_equal(DOMAIN.reward(question, ("!!!", "!", "", "b", "C")), [1, 0, 0, 1, 1])


@pytest.mark.parametrize("m", [1, 3])
def test_the_prompt_shows_the_masks_and_a_form_that_is_read(m: int) -> None:
    prompt = DOMAIN.prompt(QUESTION, m)
    assert all(mask in prompt for mask in QUESTION.masks)
    assert "Ada_Bern" not in prompt
    form = prompt[prompt.rindex("<response_1>") if m > 1 else prompt.index("<entity_A>") :]
    assert DOMAIN.parse(form, m).answers[0] == ("Name_of_it",) * 5


def test_a_question_has_five_entities() -> None:
    with pytest.raises(ProblemError, match="5 masks"):
        EureqaQuestion(narrative="", masks=("a",), entities=("b",) * 5)

"""Rows with the fields of the published data sets become questions, or one sentence that names the field."""

import base64
import copy
import zlib
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.domains import eureqa, livecodebench, musique, toolrl
from service.errors import InvalidProblemError
from service.problems.domains.published import read_question
from tests.unit.problems.domains.samples import CALLING, EUREQA, MUSIQUE, READING, ROWS, TOOLRL


def test_musique_is_read_with_its_hops_in_order() -> None:
    shuffled = copy.deepcopy(MUSIQUE)
    shuffled["paragraphs"].reverse()
    assert read_question("musique", MUSIQUE, "x") == musique.MusiqueQuestion(
        text="What is the capital of the country of Lake Veld?",
        paragraphs=(
            ("Lake Veld", "Lake Veld lies in Norland."),
            ("Chess", "Chess is a game."),
            ("Norland", "Its capital is Old Harbour."),
        ),
        support=(0, 2),
        answer="The Golden Harbour",
        aliases=("Goldenport",),
    )
    assert read_question("musique", shuffled, "x").support == (2, 0)


def test_eureqa_is_read_to_its_fifth_entity() -> None:
    question = read_question("eureqa", EUREQA, "x")
    assert isinstance(question, eureqa.EureqaQuestion)
    assert question.narrative.count("\n") == 2
    assert question.masks == ("Person A", "book B", "city C", "country D", "sea E")
    assert question.entities == ("Ada_Bern", "The_Long_Road", "Port_Veld", "Norland", "Inner_Sea")


def test_toolrl_is_read_with_the_calls_of_its_ground_truth() -> None:
    assert read_question("toolrl", TOOLRL, "x") == toolrl.ToolTask(
        user="Weather for three days in the harbour, please.",
        system="Tools: get_weather(city, days). Think in <think>, call in <tool_call>.",
        calls=(toolrl.ToolCall(name="get_weather", arguments={"city": "Port Veld", "days": 3}),),
    )


def test_livecodebench_is_read_with_public_and_private_tests() -> None:
    question = read_question("livecodebench", READING, "x")
    assert isinstance(question, livecodebench.CodingTask)
    assert [test.input for test in question.tests] == ["1 2\n", "5 5\n", "20 20\n"]
    assert (question.starter, question.function) == ("", "")
    called = read_question("livecodebench", CALLING, "x")
    assert called.function == "reversedList"
    assert read_question("livecodebench", {**CALLING, "metadata": "{}"}, "x").function == "reversedList"


def test_tests_packed_as_a_pickle_are_refused_and_not_unpacked() -> None:
    # os.system called with "exit 3", as unpickling would do it.
    packed = base64.b64encode(zlib.compress(b"cos\nsystem\n(S'exit 3'\ntR.")).decode()
    with pytest.raises(InvalidProblemError) as caught:
        read_question("livecodebench", {**READING, "private_test_cases": packed}, "data.jsonl, question 4")
    assert "pickle, which can run code" in caught.value.complaints[0]
    assert caught.value.complaints[0].startswith("data.jsonl, question 4: private_test_cases is not JSON text")
    assert len(read_question("livecodebench", {**READING, "private_test_cases": ""}, "x").tests) == 1


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("musique", {"question": None}, "question should be a text, not nothing"),
        ("musique", {"paragraphs": []}, "paragraphs should be a list of objects, not []"),
        ("musique", {"answer": 3}, "answer should be a text, not 3"),
        ("musique", {"answer_aliases": "x"}, "answer_aliases should be a list of texts"),
        ("musique", {"question_decomposition": [{"paragraph_support_idx": None}]}, "the number of a paragraph"),
        (
            "musique",
            {"question_decomposition": [{"paragraph_support_idx": 9}]},
            "the paragraph 9, which does not exist",
        ),
        ("musique", {"question_decomposition": [{"paragraph_support_idx": 0}] * 5}, "1 to 4 hops, not 5"),
        ("eureqa", {"entities": ["a"] * 4}, "5 masks and entities, not 5 and 4"),
        ("eureqa", {"entity_masks": "abcde"}, "entity_masks should be a list of texts"),
        ("eureqa", {"question": 1}, "question should be a list of texts, not 1"),
        ("toolrl", {"prompt": "x"}, "prompt should be a list of objects"),
        ("toolrl", {"prompt": [{"role": "system", "content": "x"}]}, "no message of the user"),
        ("toolrl", {"reward_model": None}, "reward_model should be an object"),
        ("toolrl", {"reward_model": {"ground_truth": "call it"}}, "not a readable reply"),
        (
            "toolrl",
            {"reward_model": {"ground_truth": "<tool_call>{x</tool_call>"}},
            "the text after call 0 is not JSON",
        ),
        ("livecodebench", {"question_content": ""}, None),
        ("livecodebench", {"public_test_cases": "[1]"}, "should be a list of tests"),
        ("livecodebench", {"public_test_cases": '[{"input": "x"}]'}, "output should be a text, not nothing"),
        ("livecodebench", {"public_test_cases": "", "private_test_cases": ""}, "at least one test"),
        ("livecodebench", {"starter_code": "x = 1"}, "starter_code defines no function"),
        ("livecodebench", {"starter_code": 4}, "starter_code should be a text, not 4"),
    ],
)
def test_a_row_that_is_off_is_one_sentence_that_names_the_field(name: str, changes: Any, said: str | None) -> None:
    row = {**ROWS[name], **changes}
    if said is None:
        assert read_question(name, row, "x").statement == ""
        return
    with pytest.raises(InvalidProblemError) as caught:
        read_question(name, row, "x.json")
    (sentence,) = caught.value.complaints
    assert said in sentence
    assert sentence.startswith("x.json: ")
    assert len(sentence) < 400


ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("name", ROWS)
@given(st.data())
def test_any_values_in_the_fields_are_a_question_or_a_sentence(name: str, data: st.DataObject) -> None:
    row = {key: data.draw(st.just(value) | ANY) for key, value in ROWS[name].items()}
    with suppress(InvalidProblemError):
        read_question(name, row, "x")

"""A problem as it is typed is the problem that is sent, whatever characters it is made from."""

import tomllib
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.dashboard.session import FormData
from service.dashboard.views.submit_problem import STARTER, STARTER_FILES, place_of, problem_of, regions_said, rows_of
from service.errors import InvalidProblemError
from service.ports import Upload
from service.problems.upload import load_upload

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\r"), max_size=40)


def form(*pairs: tuple[str, str]) -> FormData:
    return FormData.read(urlencode(pairs).encode())


def typed(**changes: str) -> FormData:
    return form(*({**STARTER, "source": "fields"} | changes).items())


@given(TEXTS.filter(str.strip), TEXTS)
def test_any_text_arrives_in_the_document_as_it_was_typed(name: str, description: str) -> None:
    document = tomllib.loads(problem_of(typed(name=name, description=description)).files["problem.toml"])
    assert (document["name"], document["description"]) == (name.strip(), description.strip())


def test_the_problem_that_the_form_begins_with_can_be_searched_on() -> None:
    by_field = problem_of(typed())
    by_file = problem_of(
        form(
            ("source", "files"),
            *[pair for name, text in STARTER_FILES for pair in (("file_name", name), ("file_text", text))],
        )
    )
    for problem in (by_field, by_file):
        loaded = load_upload(Upload(name="", files=problem.contents(), executable=frozenset()))
        assert [objective.name for objective in loaded.problem.objectives] == ["height"]
        assert loaded.problem.evaluator.entry == "solve"


def test_objectives_are_those_with_a_name_or_a_number() -> None:
    columns = [
        ("name", ["speed", "", "size"]),
        ("direction", ["maximize", "maximize", "minimize"]),
        ("low", ["0", "", "-1.5"]),
        ("high", ["9", "", "1e3"]),
        ("reference", ["", "", ""]),
        ("target", ["", "", "2"]),
    ]
    pairs = [(f"objective_{name}", value) for name, values in columns for value in values]
    several = form(
        *[(key, value) for key, value in STARTER.items() if key != "objective_name"], ("source", "fields"), *pairs
    )
    document = tomllib.loads(problem_of(several).files["problem.toml"])
    assert document["objectives"] == [
        {"name": "speed", "direction": "maximize", "low": 0.0, "high": 9.0},
        {"name": "size", "direction": "minimize", "low": -1.5, "high": 1000.0, "target": 2.0},
    ]
    assert [row.name for row in rows_of(several)] == ["speed", "size", ""]


@pytest.mark.parametrize(
    ("changes", "place", "words"),
    [
        ({"name": " "}, "name", "give the problem a name"),
        ({"entry": ""}, "entry", "name the function"),
        ({"program_text": ""}, "program_text", "write the program"),
        ({"program_text": "# EVOLVE-BLOCK-END\n"}, "program_text", "EVOLVE-BLOCK-END in line 1"),
        ({"evaluator_text": ""}, "evaluator_text", "write the function score"),
        ({"objective_low": "zero"}, "objectives", "low of height is not a number"),
        ({"objective_name": "", "objective_high": "1"}, "objectives", "give each objective the name"),
    ],
)
def test_what_is_missing_is_said_beside_its_field(changes: dict[str, str], place: str, words: str) -> None:
    with pytest.raises(InvalidProblemError) as raised:
        problem_of(typed(**changes))
    ((found, said),) = [place_of(complaint, typed(**changes)) for complaint in raised.value.complaints]
    assert found == place
    assert words in said


def test_files_have_names_of_their_own() -> None:
    pairs = [
        ("file_name", "a"),
        ("file_text", "1"),
        ("file_name", "a"),
        ("file_text", "2"),
        ("file_name", ""),
        ("file_text", "x"),
    ]
    with pytest.raises(InvalidProblemError) as raised:
        problem_of(form(("source", "files"), *pairs))
    assert list(raised.value.complaints) == [
        "files: give the file that begins with x a name",
        "files: a is there twice",
    ]
    with pytest.raises(InvalidProblemError, match=r"add problem\.toml"):
        problem_of(form(("source", "files")))


def test_the_service_complains_beside_the_field_it_is_about() -> None:
    broken = typed(evaluator_text="def score(:\n", objective_low="3")
    with pytest.raises(InvalidProblemError) as raised:
        load_upload(Upload(name="", files=problem_of(broken).contents(), executable=frozenset()))
    assert {place_of(complaint, broken)[0] for complaint in raised.value.complaints} == {"evaluator_text", "objectives"}


def test_how_much_may_change_is_counted_in_lines() -> None:
    assert regions_said(typed()) == "2 of 4 lines may change, in 1 EVOLVE-BLOCK region."
    assert "every line" in regions_said(typed(program_text="a = 1\n"))

"""Labels of a run: what the options and the notebook take is what the API takes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from service.errors import UsageError
from service.schemas.types import Labels
from service.usecases.labels import check_labels, named, read_labels

LABELS: TypeAdapter[dict[str, str]] = TypeAdapter(Labels)


def test_the_name_is_a_label_and_values_may_hold_equal_signs() -> None:
    found = read_labels("first try", ["team=blue", "formula=a=b", "empty="])
    assert found == {"name": "first try", "team": "blue", "formula": "a=b", "empty": ""}
    assert read_labels(None, ()) == {}
    assert named("x", {"name": "x"}) == {"name": "x"}


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        (None, ["team"], "write KEY=VALUE"),
        (None, ["=blue"], "the label '' cannot be stored: a key is at most 63 lower-case letters"),
        (None, ["Team=blue"], "the label 'Team' cannot be stored: a key is"),
        (None, ["team=" + "x" * 201], "the label 'team' cannot be stored: a value is at most 200 characters"),
        (None, ["team=\0"], "a value is at most 200 characters without NUL"),
        (None, ["team=a", "team=b"], "--label 'team' is given twice"),
        (None, [f"key{number}=x" for number in range(17)], "a run has at most 16 labels, not 17"),
        (" ", [], "the name of the run is blank"),
        ("x" * 201, [], "the label 'name' cannot be stored: a value is at most 200 characters"),
        ("a", ["name=b"], "the run is named 'a' and has the label name='b'"),
    ],
)
def test_what_is_no_label_is_refused_in_one_sentence(name: str | None, words: list[str], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_labels(name, words)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("labels", [["team"], "team", {"team": 1}, {1: "team"}, {"team": None}])
def test_what_a_notebook_gives_in_place_of_labels_is_refused(labels: Any) -> None:
    with pytest.raises(UsageError, match="label"):
        check_labels(labels)


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=8), max_size=4))
def test_labels_are_those_that_the_api_takes(labels: dict[str, str]) -> None:
    try:
        expected = LABELS.validate_python(labels)
    except ValidationError:
        with pytest.raises(UsageError):
            check_labels(labels)
    else:
        assert check_labels(labels) == expected

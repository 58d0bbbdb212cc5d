from datetime import UTC, datetime

import pytest

from evolve.identity import candidate_id
from service.cli import formatting
from service.identifiers import candidate_address, candidate_place


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.0, "0"), (2.6359830849, "2.63598"), (1e-12, "1e-12"), (-3.0, "-3"), (123456789.0, "1.23457e+08")],
)
def test_numbers_have_sensible_digits(value: float | None, text: str) -> None:
    assert formatting.number(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (0.0123, "12 ms"),
        (1.26, "1.3 s"),
        (59.97, "1 min 00 s"),
        (61.0, "1 min 01 s"),
        (3599.6, "1 h 00 min"),
        (7380.0, "2 h 03 min"),
    ],
)
def test_durations_have_the_unit_that_fits(seconds: float | None, text: str) -> None:
    assert formatting.duration(seconds) == text


def test_changes_carry_their_sign() -> None:
    assert [formatting.signed(value) for value in (None, 0.0, 0.5, -0.25)] == ["", "±0", "+0.5", "-0.25"]


def test_short_ids_keep_what_tells_them_apart() -> None:
    assert formatting.short("run_01970000-aaaa-7bbb-8ccc-000000000001") == "run_01970000-aaaa"
    assert formatting.short("prp_334caf7e1a5594fa0aea5535a983045e") == "prp_334caf7e"
    assert formatting.short(None) == "–"


def test_a_candidate_is_named_by_its_proposal_and_its_position() -> None:
    assert formatting.short(candidate_id("run_1", 28, 1)) == "28.1"
    assert formatting.short(candidate_id("run_1", 0, 0)) == "0.0"
    assert candidate_address("run_01970000-aaaa-7bbb", candidate_id("run_1", 28, 1)) == "run_01970000-aaaa.28.1"


@pytest.mark.parametrize(
    ("word", "place"),
    [
        ("28.0", ("", 28, 0)),
        ("last.3.12", ("last", 3, 12)),
        ("run_01970000-aaaa.28.1", ("run_01970000-aaaa", 28, 1)),
        ("28", None),
        ("28.", None),
        (".28.1", None),
        ("cnd_7b8cf14b", None),
        ("run_1.2.3.4", None),
    ],
)
def test_words_name_a_candidate_of_a_run(word: str, place: tuple[str, int, int] | None) -> None:
    assert candidate_place(word) == place


def test_moments_are_local() -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert formatting.moment(at) == f"{at.astimezone():%Y-%m-%d %H:%M:%S}"


def test_counts_and_plurals() -> None:
    assert formatting.plural(1, "island") == "1 island"
    assert formatting.plural(12345, "island") == "12,345 islands"
    assert formatting.share(0.9185) == "91.8 %"

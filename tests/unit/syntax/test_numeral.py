import pytest

from service.policy.syntax.numeral import fit, read, spell


@pytest.mark.parametrize(
    ("text", "value", "step", "written"),
    [
        ("10", 12.4, 2.0, "12"),
        ("1_000", 2500.0, 1500.0, "2_500"),
        ("0xFF", 254.0, 1.0, "0xFE"),
        ("0b11", 4.0, 1.0, "0b100"),
        ("-3", -4.0, 1.0, "-4"),
        ("3", -4.0, 7.0, "-4"),
        ("0.5", 0.6234567, 0.1, "0.6235"),
        ("0.5", 0.50001234567, 0.00001, "0.50001235"),
        ("2.0", 3.0, 1.0, "3.0"),
        ("1e-3", 0.002, 0.001, "2e-3"),
        ("1.5e8", -2.5e8, 4e8, "-2.5e8"),
    ],
)
def test_a_value_is_written_in_the_style_of_the_numeral(text: str, value: float, step: float, written: str) -> None:
    numeral = read(text, 0)
    assert numeral is not None
    assert spell(numeral, value, step) == written


@pytest.mark.parametrize("text", ["1e999", "9" * 400, "x", "0x", "", "-", "99999999999999999"])
def test_what_no_float_holds_is_no_numeral(text: str) -> None:
    assert read(text, 0) is None


def test_a_minus_never_joins_an_operator() -> None:
    numeral = read("5", 4)
    assert numeral is not None
    assert fit("x - 5", numeral, "-3.0") == "(-3.0)"
    assert fit("x = 5", numeral, "-3.0") == "-3.0"

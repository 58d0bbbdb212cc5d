"""Numbers as people read them on pages: `static/numbers.js` writes the same texts in the browser.

`tests/data/numbers.json` holds cases for both.
"""

import math
import re
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Context, Decimal

NOTHING = "–"
MIN_PLAIN = 1e-4  # smaller ones, and those from MAX_PLAIN on, have an exponent
MAX_PLAIN = 1e15
MAX_SHOWN_DIGITS = 10  # of a number that is all but whole
MAX_DIGITS = 15  # that a float of 64 bits keeps
_GAP = "\u202f"  # a narrow space between groups of three digits
_GROUP = re.compile(r"\B(?=(?:\d{3})+$)")


def number(value: float | None, digits: int = 5) -> str:
    """A number in so many significant digits; a whole number has all of its own."""
    if value is None or math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    size = abs(value)
    if size >= MAX_PLAIN:
        return _exponential(value, digits)
    if isinstance(value, int) or value.is_integer() or size >= 10**digits:
        return _grouped(str(Decimal(value).to_integral_value(ROUND_HALF_UP)))
    if size < MIN_PLAIN:
        return _exponential(value, digits)
    text = _trimmed(format(_rounded(value, digits), "f"))
    # 0.9999999 is not 1: what is not whole is not written as if it were, but for the dust of floats.
    hides = size < 10 ** (digits - 1) and digits < MAX_SHOWN_DIGITS and "." not in text
    return number(value, digits + 1) if hides else _grouped(text)


def digits_apart(values: Iterable[float | None], least: int = 5) -> int:
    """How many significant digits tell numbers apart; equal ones need none."""
    different = {value for value in values if value is not None}
    for digits in range(least, MAX_DIGITS):
        if len({number(value, digits) for value in different}) == len(different):
            return digits
    return MAX_DIGITS


def signed(value: float | None, digits: int = 4) -> str:
    """A difference, with its sign."""
    text = number(value, digits)
    if value == 0:
        return "±0"
    return f"+{text}" if value is not None and value > 0 else text


def _rounded(value: float, digits: int) -> Decimal:
    return Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal(Decimal(value))


def _exponential(value: float, digits: int) -> str:
    mantissa, power = f"{_rounded(value, min(digits, MAX_DIGITS)):e}".split("e")
    return f"{_trimmed(mantissa)}e{int(power)}"


def _trimmed(text: str) -> str:
    """The digits of a text without zeros at the end of its fraction."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def _grouped(text: str) -> str:
    """Set groups of three digits apart, before the point alone."""
    whole, point, fraction = text.partition(".")
    return _GROUP.sub(_GAP, whole) + point + fraction

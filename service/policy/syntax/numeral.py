"""Numerals: a number as a source text writes it, read and written back in its own style."""

import math
import re
from dataclasses import dataclass

SPELLING = re.compile(
    r"0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+"
    r"|(?:\d[\d_]*(?:\.(?![.A-Za-z_])[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?"
)
_BASES = {"x": 16, "b": 2, "o": 8}
_MAX_EXACT = 1e15  # beyond it, a float no longer holds every integer
_OPERATORS = frozenset("+-*/%^&|<>~")


@dataclass(frozen=True, slots=True, kw_only=True)
class Numeral:
    """A number in a source text.

    Attributes:
        start, end: its place, including its own leading minus and excluding a suffix (`10u32`).
        groups: the brackets around it, outermost first. Equal numbers mean the same bracket.
    """

    start: int
    end: int
    text: str
    value: float
    integral: bool
    groups: tuple[int, ...] = ()


def read(text: str, start: int, groups: tuple[int, ...] = ()) -> Numeral | None:
    """The numeral that `text` spells, with its sign. None if it cannot be tuned (too large, not finite)."""
    negative = text.startswith("-")
    digits = text[1:].lstrip() if negative else text
    if not SPELLING.fullmatch(digits):
        return None
    value, integral = _value(digits)
    if value is None or not math.isfinite(value) or abs(value) > _MAX_EXACT:
        return None
    return Numeral(
        start=start,
        end=start + len(text),
        text=text,
        value=-value if negative else value,
        integral=integral,
        groups=groups,
    )


def spell(numeral: Numeral, value: float, step: float) -> str:
    """Write a value in a numeral's style, with as many digits as a change by `step` deserves."""
    if numeral.integral:
        return _spell_integer(numeral.text.lstrip("- "), round(value))
    digits = _significant(value, step)
    if "e" in numeral.text.lower():
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{mantissa}e{int(exponent)}"
    return repr(float(f"{value:.{digits}g}"))


def fit(source: str, numeral: Numeral, spelled: str) -> str:
    """Put a negative value in parentheses where its minus would join an operator before it."""
    before = source[: numeral.start].rstrip(" \t")[-1:]
    return f"({spelled})" if spelled.startswith("-") and before in _OPERATORS else spelled


def _value(digits: str) -> tuple[float | None, bool]:
    plain = digits.replace("_", "")
    base = _BASES.get(plain[1:2].lower())
    if base is not None and plain.startswith("0"):
        return (float(int(plain[2:], base)) if 2 < len(plain) < 16 else None), True
    integral = plain.isdecimal()
    return float(plain), integral


def _spell_integer(style: str, value: int) -> str:
    sign, size = ("-" if value < 0 else ""), abs(value)
    base = style[1:2].lower() if style.startswith("0") else ""
    if base in _BASES:
        return f"{sign}{style[:2]}{size:{'X' if base == 'x' and style[2:].isupper() else base}}"
    return f"{sign}{size:_}" if "_" in style else f"{sign}{size}"


def _significant(value: float, step: float) -> int:
    if not value or not step:
        return 17
    return min(17, max(3, math.ceil(math.log10(abs(value) / abs(step))) + 3))

"""Mutations of numbers, by steps whose size is drawn over several orders of magnitude.

No step size is learnt. It is drawn log-uniformly, so large and small steps always occur. The number of changed numbers
is drawn log-uniformly too, from one to all of a bracket or of the file. Other programs that differ only in numbers give
direction and size by their differences (differential evolution: Storn and Price, 1997).
"""

import math
from collections.abc import Sequence

import numpy as np

from service.policy.syntax.draw import log_uniform, pick
from service.policy.syntax.numeral import Numeral, fit, spell
from service.policy.syntax.source import Draft, SourceText, TextChange

_MIN_STEP = 1e-4
_GROUP_SHARE = 0.5
_INTEGER_SHARE = 0.15
_MAX_INTEGERS = 3
_OWN_SIZE_SHARE = 0.5
_MODELS = 2
_TOLD = 4
_FEW_DIGITS = 3

_Value = tuple[float, float]  # a new value, and the step that led to it


def tune(source: SourceText, rng: np.random.Generator) -> Draft | None:
    """Move one or more numbers by random steps of one common scale."""
    pool = _pool(source, rng)
    if not pool:
        return None
    chosen = _some(pool, rng)
    scale = log_uniform(rng, _MIN_STEP, 1.0)
    typical = math.fsum(abs(numeral.value) for numeral in pool) / len(pool) or 1.0
    values = {numeral: _step(numeral, scale, typical, rng) for numeral in chosen}
    return _draft(source, values, "tuned")


def shift(source: SourceText, rng: np.random.Generator) -> Draft | None:
    """Move the numbers of a bracket together: all by the same difference, or all by the same factor."""
    if not source.groups:
        return None
    chosen = _some(pick(source.groups, rng), rng)
    amount = rng.standard_normal() * log_uniform(rng, _MIN_STEP, 1.0)
    if rng.random() < 0.5:
        values = {numeral: (numeral.value * math.exp(amount), numeral.value * amount) for numeral in chosen}
        return _draft(source, values, "scaled together")
    typical = math.fsum(abs(numeral.value) for numeral in chosen) / len(chosen) or 1.0
    values = {numeral: (numeral.value + amount * typical, amount * typical) for numeral in chosen}
    return _draft(source, values, "shifted together")


def reset(source: SourceText, rng: np.random.Generator) -> Draft | None:
    """Give a number a distant value: its opposite, its double, zero, or a neighbour's."""
    pool = _pool(source, rng)
    if not pool:
        return None
    numeral = pick(pool, rng)
    other = pick(pool, rng).value
    spread = 2 * abs(numeral.value) or 1.0
    choices = (
        -numeral.value, 2 * numeral.value, numeral.value / 2, 0.0, 1.0, other, rng.uniform(-spread, spread),
    )  # fmt: skip
    return _draft(source, {numeral: (pick(choices, rng), 0.0)}, "reset")


def swap(source: SourceText, rng: np.random.Generator) -> Draft | None:
    """Exchange two numbers of one bracket."""
    if not source.groups:
        return None
    group = pick(source.groups, rng)
    first, second = (group[index] for index in rng.choice(len(group), 2, replace=False))
    changes = [_written(source, first, second.text), _written(source, second, first.text)]
    return _tell(source, [change for change in changes if change is not None], "swapped")


def blend(source: SourceText, others: Sequence[SourceText], rng: np.random.Generator) -> Draft | None:
    """Take numbers from other programs that say the same with other numbers: as they are, or as a direction."""
    drawn = [pick(others, rng) for _ in range(_MODELS)] if others else []
    shared = [pairs for pairs in (_pairs(source, other) for other in drawn) if pairs]
    if not shared:
        return None
    pairs = pick(shared, rng)
    chosen = {numeral: pairs[numeral] for numeral in _some(list(pairs), rng)}
    way = rng.random()
    if way < 0.3:
        values = {numeral: (other, 0.0) for numeral, other in chosen.items()}
        return _draft(source, values, "taken from an inspiration")
    factor = rng.uniform(-1.0, 1.5) if way < 0.65 else rng.choice((-1.0, 1.0)) * log_uniform(rng, 1e-3, 1.0)
    base = pick(shared, rng) if way >= 0.65 else {}
    values = {
        numeral: _toward(numeral.value, factor * (other - base.get(numeral, numeral.value)))
        for numeral, other in chosen.items()
    }
    return _draft(source, values, "moved along the difference to an inspiration")


def exchange(source: SourceText, other: SourceText, rng: np.random.Generator) -> Draft | None:
    """Uniform crossover: each number that both have in the same place is taken from either."""
    pairs = _pairs(source, other)
    if not pairs:
        return None
    chosen = [numeral for numeral in pairs if rng.random() < 0.5] or [pick(list(pairs), rng)]
    return _draft(source, {numeral: (pairs[numeral], 0.0) for numeral in chosen}, "took of the second parent")


def round_off(source: SourceText, rng: np.random.Generator) -> Draft | None:
    """Write a number with fewer digits."""
    long = [numeral for numeral in source.numerals if not numeral.integral and len(numeral.text) > _FEW_DIGITS]
    if not long:
        return None
    numeral = pick(long, rng)
    written = sum(sign.isdigit() for sign in numeral.text)
    digits = int(rng.integers(1, max(2, written)))
    value = float(f"{numeral.value:.{digits}g}")
    spelled = repr(value)
    change = TextChange(numeral.start, numeral.end, fit(source.text, numeral, spelled))
    return _tell(source, [change], "rounded") if len(spelled) < len(numeral.text) else None


def _pool(source: SourceText, rng: np.random.Generator) -> Sequence[Numeral]:
    """The numbers of a bracket or of the whole file, mostly without integers, which are sizes and indices."""
    grouped = bool(source.groups) and rng.random() < _GROUP_SHARE
    pool = pick(source.groups, rng) if grouped else source.numerals
    integers = rng.random() < _INTEGER_SHARE
    return [numeral for numeral in pool if numeral.integral is integers] or pool


def _some(pool: Sequence[Numeral], rng: np.random.Generator) -> Sequence[Numeral]:
    maximum = min(len(pool), _MAX_INTEGERS) if pool[0].integral else len(pool)
    count = int(log_uniform(rng, 1, maximum + 1))
    if count >= len(pool):
        return pool
    if count == 1:
        return [pick(pool, rng)]
    return [pool[index] for index in rng.choice(len(pool), count, replace=False)]


def _step(numeral: Numeral, scale: float, typical: float, rng: np.random.Generator) -> _Value:
    size = abs(numeral.value) if numeral.value and rng.random() < _OWN_SIZE_SHARE else typical
    amount = scale * size * rng.standard_normal()
    if numeral.integral:
        amount = math.copysign(max(1, round(abs(amount))), amount)
    return numeral.value + amount, amount


def _toward(value: float, amount: float) -> _Value:
    return value + amount, amount


def _pairs(source: SourceText, other: SourceText) -> dict[Numeral, float]:
    theirs = other.numeral_keys
    return {
        numeral: theirs[key].value
        for key, numeral in source.numeral_keys.items()
        if key in theirs and theirs[key].value != numeral.value
    }


def _draft(source: SourceText, values: dict[Numeral, _Value], verb: str) -> Draft | None:
    written = (_written(source, numeral, spell(numeral, *value)) for numeral, value in values.items() if _held(*value))
    return _tell(source, [change for change in written if change is not None], verb)


def _held(value: float, step: float) -> bool:
    return math.isfinite(value) and math.isfinite(step) and abs(value) < 1e15


def _written(source: SourceText, numeral: Numeral, spelled: str) -> TextChange | None:
    if float_of(spelled) == numeral.value:
        return None
    return TextChange(numeral.start, numeral.end, fit(source.text, numeral, spelled))


def float_of(spelled: str) -> float | None:
    """The value of what `spell` wrote, when it is decimal."""
    try:
        return float(spelled)
    except ValueError:
        return None


def _tell(source: SourceText, changes: list[TextChange], verb: str) -> Draft | None:
    if not changes:
        return None
    told = "; ".join(source.tell(change) for change in changes[:_TOLD])
    more = f"; and {len(changes) - _TOLD} more" if len(changes) > _TOLD else ""
    account = f"{verb} {len(changes)} number{'s' * (len(changes) > 1)}: {told}{more}"
    # A number in a number's place parses, unless it runs into a neighbour, as in `1else 2`.
    return Draft(tuple(changes), account, safe=all(source.apart(change.start, change.end) for change in changes))

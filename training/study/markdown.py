"""Tables and sentences in Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass

from evolve.statistics.intervals import COVERED, Estimate
from evolve.statistics.significance import holm
from training.study.bootstrap import Difference

NOTHING = "–"


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodComparison:
    """Two methods and a figure. `ahead` is the lead of the first, None if it was not measured."""

    ahead: Difference | None
    one: str
    other: str
    figure: str


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table. A sentence replaces an empty table."""
    if not rows:
        return "Not measured."
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def cell(estimate: Estimate | None) -> str:
    """A mean with its interval."""
    return NOTHING if estimate is None else str(estimate)


def signed(estimate: Estimate | None) -> str:
    """A difference with its interval, in bold if the interval leaves zero out."""
    if estimate is None:
        return NOTHING
    apart = estimate.low > 0 or estimate.high < 0
    return f"**{estimate.signed}**" if apart else estimate.signed


def conclusions(comparisons: Sequence[MethodComparison]) -> list[str]:
    """A sentence about each of several differences.

    Their p-values are adjusted together by Holm's method, so the chance of any false finding among them stays below 5
    %.
    """
    adjusted = iter(holm([one.ahead.p_value for one in comparisons if one.ahead is not None]))
    return [
        f"{one.one} and {one.other} were not both measured on {one.figure}."
        if one.ahead is None
        else _conclusion(one, one.ahead, next(adjusted))
        for one in comparisons
    ]


def _conclusion(compared: MethodComparison, ahead: Difference, p_value: float) -> str:
    one, other, figure = compared.one, compared.other, compared.figure
    seen = f"(difference {ahead.signed}, p = {p_value:.3f})"
    if p_value >= 1 - COVERED:
        return f"{one} and {other} cannot be told apart on {figure} {seen}."
    return f"{one} lies {'above' if ahead.value > 0 else 'below'} {other} on {figure} by {abs(ahead.value):.3f} {seen}."


def paragraphs(*parts: str) -> str:
    """Parts, separated by blank lines. Empty parts are left out."""
    return "\n\n".join(part.strip("\n") for part in parts if part)

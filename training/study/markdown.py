"""Tables and sentences in Markdown."""

from collections.abc import Sequence

from evolve.statistics.intervals import Estimate

NOTHING = "–"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; what has no row is said in words."""
    if not rows:
        return "Not measured."
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def cell(estimate: Estimate | None) -> str:
    """A mean with its interval."""
    return NOTHING if estimate is None else str(estimate)


def signed(estimate: Estimate | None) -> str:
    """A difference with its interval; bold where that leaves zero out."""
    if estimate is None:
        return NOTHING
    apart = estimate.low > 0 or estimate.high < 0
    return f"**{estimate.signed}**" if apart else estimate.signed


def stands(ahead: Estimate | None, one: str, other: str, figure: str) -> str:
    """One sentence about a difference, whichever way it came out."""
    if ahead is None:
        return f"{one} and {other} were not both measured on {figure}."
    size = f"{abs(ahead.value):.3f} (difference {ahead.signed})"
    if ahead.low > 0:
        return f"{one} lies above {other} on {figure} by {size}."
    if ahead.high < 0:
        return f"{one} lies below {other} on {figure} by {size}."
    return f"{one} and {other} cannot be told apart on {figure} (difference {ahead.signed})."


def paragraphs(*parts: str) -> str:
    """Parts apart by blank lines; empty ones are left out."""
    return "\n\n".join(part.strip("\n") for part in parts if part)

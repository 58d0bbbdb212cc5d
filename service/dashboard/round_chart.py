"""The shares of problems solved over the rounds of a flywheel, as places of a small chart with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass

from service.schemas.flywheels import FlywheelRound, SolvedShare

WIDTH, HEIGHT = 640, 240
LEFT, RIGHT, TOP, FOOT = 44, 12, 12, 212
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
MAX_WORDS = 12  # of the axis of rounds
GAP = 7.0  # between the marks of a round, half of it on each side


@dataclass(frozen=True, slots=True, kw_only=True)
class SharePlace:
    """A share of a round.

    Attributes:
        x, y: of its mark.
        low, high: ends of its interval, downwards from the top.
        words: the share with its interval, for a tip and for those who do not see it.
    """

    x: float
    y: float
    low: float
    high: float
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareLine:
    """The shares at a number of evaluations.

    Attributes:
        name: of the line.
        path: through its marks, of an SVG of WIDTH by HEIGHT.
    """

    name: str
    path: str
    places: Sequence[SharePlace]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundChart:
    """A chart.

    Attributes:
        ticks: of the axis upwards: place and words.
        rounds: of the axis across: place and number.
    """

    lines: Sequence[ShareLine]
    ticks: Sequence[tuple[float, str]]
    rounds: Sequence[tuple[float, str]]


def round_chart(rounds: Sequence[FlywheelRound]) -> RoundChart | None:
    """The chart of rounds. None: no round has shares."""
    shown = [one for one in rounds if one.shares]
    if not shown:
        return None
    last = max(one.number for one in rounds)
    budgets = sorted({share.evaluations for one in shown for share in one.shares})
    every = -(-last // MAX_WORDS)
    return RoundChart(
        lines=[_line(shown, budget, place, len(budgets), last) for place, budget in enumerate(budgets)],
        ticks=[(_up(tick), f"{tick:g}") for tick in TICKS],
        rounds=[(_across(number, last), str(number)) for number in range(1, last + 1, every)],
    )


def _line(rounds: Sequence[FlywheelRound], budget: int, place: int, count: int, last: int) -> ShareLine:
    aside = GAP * (place - (count - 1) / 2)
    found = [(one.number, share) for one in rounds for share in one.shares if share.evaluations == budget]
    places = [_place(number, share, _across(number, last) + aside) for number, share in found]
    path = "M" + " L".join(f"{one.x:.1f},{one.y:.1f}" for one in places)
    return ShareLine(name=f"at {budget} evaluations", path=path, places=places)


def _place(number: int, share: SolvedShare, x: float) -> SharePlace:
    told = f"{share.share:.3f} [{share.low:.3f}, {share.high:.3f}]"
    return SharePlace(
        x=x,
        y=_up(share.share),
        low=_up(share.low),
        high=_up(share.high),
        words=f"Round {number}, at {share.evaluations} evaluations: {told}",
    )


def _across(number: int, last: int) -> float:
    """The middle of the column of a round."""
    return LEFT + (number - 0.5) / last * (WIDTH - LEFT - RIGHT)


def _up(share: float) -> float:
    return FOOT - share * (FOOT - TOP)

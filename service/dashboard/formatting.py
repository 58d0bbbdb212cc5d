"""How values are written on pages: numbers short, times whole, and nothing invisible."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Protocol

from markupsafe import Markup, escape

from service.dashboard.numbers import digits_apart, number, signed
from service.dashboard.scores import as_score, score_word, sign_of
from service.identifiers import short_id
from service.projections.end_reasons import ending


class GroupMember(Protocol):
    """An item that is listed in a group."""

    @property
    def group(self) -> str:
        """Its name."""


MAX_LINE = 2000
_NOTHING = Markup("–")
# Controls but tab and newline, and what turns the direction of text around: a candidate could show itself as another.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: object) -> Markup:
    """Text of others: what cannot be seen is written as its code point, marked as such."""
    # What is escaped holds nothing that cannot be seen, so marks are put into it; a text may be of nothing else.
    return Markup(_UNSEEN.sub(_named, str(escape(str(text)))))  # noqa: S704 - escaped, and marks that we made


def _named(found: re.Match[str]) -> str:
    return f'<span class="unseen">U+{ord(found.group()):04X}</span>'


def plain(text: object, maximum: int = 200) -> str:
    """Text of others where no markup can stand: in titles and attributes; on one line, and not too long."""
    line = _UNSEEN.sub(lambda found: f"\\u{ord(found.group()):04x}", " ".join(str(text).split()))
    return line if len(line) <= maximum else line[: maximum - 1] + "…"


def share(value: float | None) -> str:
    """A share in percent. A negative zero is zero: nothing was lost."""
    return _NOTHING if value is None else f"{100 * value + 0.0:.3g}\u202f%"


def seconds(value: float | None) -> str:
    """A duration for people: 0.84 s, 12 s, 4 min 10 s, 3 h 5 min, 2 d 4 h."""
    if value is None:
        return _NOTHING
    if value < 10:
        return f"{value:.2g} s"
    whole = round(value)
    for size, name, part, below in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size} {name}" + (f" {rest} {below}" if rest else "")
    return f"{whole} s"


def moment(value: datetime | None) -> Markup:
    """A time in UTC, for people and for machines."""
    if value is None:
        return _NOTHING
    text = value.astimezone(UTC)
    return Markup('<time datetime="{}">{} UTC</time>').format(text.isoformat(), text.strftime("%Y-%m-%d %H:%M:%S"))


def age(value: datetime | None) -> Markup:
    """How long ago something was; the time itself is its title."""
    if value is None:
        return _NOTHING
    ago = (datetime.now(UTC) - value).total_seconds()
    words = "now" if ago < 1 else f"{seconds(ago)} ago"
    stamp = value.astimezone(UTC).isoformat()
    return Markup('<time datetime="{}" data-age title="{}">{}</time>').format(stamp, stamp, words)


def short(identity: object) -> str:
    """An id cut to what tells it apart, or the name of a candidate in its run."""
    return short_id(str(identity))


class ViewHolder(Protocol):
    """A candidate, or a cell that holds one."""

    @property
    def view_type(self) -> str | None:
        """Media type of its view."""

    @property
    def view_on_demand(self) -> bool:
        """Whether its view is drawn on demand, and not yet."""


def listed(values: Mapping[str, Any]) -> str:
    """Names and numbers on one line."""
    return ", ".join(f"{plain(name, 60)} {number(value)}" for name, value in values.items())


def groups(members: Iterable[GroupMember]) -> list[tuple[str, list[GroupMember]]]:
    """Members that stand together, under the name of their group."""
    return [(group, list(some)) for group, some in groupby(members, key=lambda one: one.group)]


def viewed(items: Iterable[ViewHolder]) -> list[ViewHolder]:
    """The items that have a view, or one that is drawn on demand."""
    return [one for one in items if one.view_type or one.view_on_demand]


FILTERS = {
    "groups": groups,
    "viewed": viewed,
    "ending": ending,
    "visible": visible,
    "plain": plain,
    "number": number,
    "digits_apart": digits_apart,
    "score": as_score,
    "score_word": score_word,
    "sign": sign_of,
    "signed": signed,
    "share": share,
    "seconds": seconds,
    "moment": moment,
    "age": age,
    "short": short,
    "listed": listed,
}

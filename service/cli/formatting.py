"""Numbers, times and ids as people read them."""

from datetime import datetime, timedelta

from service.identifiers import short_id


def number(value: float | None, digits: int = 6) -> str:
    """A number with sensible digits; a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}g}"


def exact(value: float | None) -> str:
    """A number with as many digits as tell two good programs apart."""
    return number(value, 10)


def signed(value: float | None) -> str:
    """A change; zero is written as such."""
    if value is None:
        return ""
    return "±0" if value == 0 else f"{value:+.4g}"


def share(value: float | None) -> str:
    """A share as a percentage."""
    return "–" if value is None else f"{100 * value + 0.0:.1f} %".replace("-0.0 %", "0.0 %")


def count(value: int) -> str:
    """A whole number, thousands set apart."""
    return f"{value:,}"


def plural(value: int, noun: str) -> str:
    """A count with its noun."""
    return f"{count(value)} {noun}{'' if value == 1 else 's'}"


def cut(text: str, maximum: int) -> str:
    """A text, or its beginning."""
    return text if len(text) <= maximum else text[: maximum - 1] + "…"


def duration(seconds: float | None) -> str:
    """A time span in the unit that fits it."""
    if seconds is None:
        return "–"
    if seconds < 0.9995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def age(span: timedelta) -> str:
    """How long ago something was, in its largest unit."""
    seconds = max(0, int(span.total_seconds()))
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{count(seconds // length)} {unit}"
    return "<1 min"


def moment(at: datetime | None) -> str:
    """A point in time, in the local zone, to the second."""
    return "–" if at is None else f"{at.astimezone():%Y-%m-%d %H:%M:%S}"


def short(identity: str | None) -> str:
    """An id cut to what tells it apart, or the name of a candidate in its run."""
    return "–" if identity is None else short_id(identity)

"""The one codec between events and their JSON, as it is stored, streamed and exported."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any, get_type_hints

from evolve import change_events, event_types, prompt_events
from evolve.errors import ReplayError
from evolve.event_types import BESIDE, KEY, OMIT, Edges, EventData, EventKind
from evolve.extensions import Extension
from evolve.money import Money
from evolve.proposal import Charge, Usage
from evolve.reply_form import ReplyForm

_Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldCodec:
    """How one field of an event stands in its JSON.

    Attributes:
        name, key: of the field, and in the JSON.
        default: its value where the key is missing; `MISSING`: every stored event has the key.
        omitted: left out where it has its default.
        beside: it is written where the field of this name is not None; empty: that does not matter.
        write, read: between the value and its JSON; None: they are the same.
    """

    name: str
    key: str
    default: Any
    omitted: bool
    beside: str
    write: _Convert | None
    read: _Convert | None


def encode(data: EventData) -> dict[str, Any]:
    """The JSON of an event, without its kind."""
    found = {}
    for codec in FIELDS[data.kind]:
        value = getattr(data, codec.name)
        if codec.omitted and value == codec.default:
            continue
        if codec.beside and getattr(data, codec.beside) is None:
            continue
        found[codec.key] = value if codec.write is None or value is None else codec.write(value)
    return found


def decode(kind: EventKind, payload: Mapping[str, Any]) -> EventData:
    """The event of a kind that a JSON holds; keys that its class does not know are passed over.

    Raises:
        ReplayError: a field is missing, or is not what it should be.
    """
    found = {}
    for codec in FIELDS[kind]:
        value = payload.get(codec.key, MISSING)
        if value is MISSING:
            if codec.default is MISSING:
                raise ReplayError(f"an event {kind} has no {codec.key}: it was written by another version")
            found[codec.name] = codec.default
            continue
        try:
            found[codec.name] = value if codec.read is None or value is None else codec.read(value)
        except (KeyError, TypeError, ValueError) as error:
            raise ReplayError(f"{codec.key} of an event {kind} cannot be read: {error!r}") from error
    return CLASSES[kind](**found)


def write_usage(usage: Usage) -> dict[str, int]:
    """Tokens as events tell them."""
    tokens = {"input": usage.input, "cached": usage.cached, "output": usage.output}
    return tokens | {"reasoning": usage.reasoning} if usage.reasoning else tokens


def write_charge(charge: Charge) -> dict[str, Any]:
    """A payment beside a completion, as events and rows tell it."""
    return {
        "policy": charge.policy,
        "purpose": charge.purpose,
        "tokens": write_usage(charge.usage),
        "cost": None if charge.cost is None else str(charge.cost),
        "seconds": charge.seconds,
    }


def _read_usage(value: Mapping[str, Any]) -> Usage:
    return Usage(
        input=value["input"],
        cached=value.get("cached", 0),
        output=value["output"],
        reasoning=value.get("reasoning", 0),
    )


def _read_charge(value: Mapping[str, Any]) -> Charge:
    cost = value.get("cost")
    return Charge(
        policy=value["policy"],
        purpose=value["purpose"],
        usage=_read_usage(value["tokens"]),
        cost=None if cost is None else Money.read(cost),
        seconds=value["seconds"],
    )


def _write_rows(rows: tuple[tuple[Any, ...], ...]) -> list[list[Any]]:
    return [list(row) for row in rows]


def _read_rows(value: Any) -> tuple[tuple[Any, ...], ...]:
    return tuple((first, second) for first, second in value)


_CONVERTED: dict[Any, tuple[_Convert, _Convert]] = {
    Edges: (_write_rows, _read_rows),
    tuple[tuple[str, int], ...]: (_write_rows, _read_rows),
    tuple[str, ...]: (list, tuple),
    tuple[float, ...]: (list, tuple),
    Mapping[str, Any]: (dict, dict),
    Mapping[str, int]: (dict, dict),
    Mapping[str, float]: (dict, dict),
    Usage: (write_usage, _read_usage),
    Usage | None: (write_usage, _read_usage),
    Money | None: (str, Money.read),
    ReplyForm | None: (ReplyForm.as_json, ReplyForm.read),
    tuple[Extension, ...]: (
        lambda extensions: [one.as_json() for one in extensions],
        lambda value: tuple(Extension.read(one) for one in value),
    ),
    tuple[Charge, ...]: (
        lambda charges: [write_charge(one) for one in charges],
        lambda value: tuple(_read_charge(one) for one in value),
    ),
}
_PLAIN = {str, int, float, bool, int | None, str | None, float | None, float | str | None}


def _field_codecs(data: type[EventData]) -> tuple[FieldCodec, ...]:
    hints = get_type_hints(data)
    found = []
    for entry in fields(data):
        kind = hints[entry.name]
        write, read = (None, None) if kind in _PLAIN else _CONVERTED[kind]
        codec = FieldCodec(
            name=entry.name,
            key=entry.metadata.get(KEY, entry.name),
            default=_default(entry),
            omitted=entry.metadata.get(OMIT, False),
            beside=entry.metadata.get(BESIDE, ""),
            write=write,
            read=read,
        )
        found.append(codec)
    return tuple(found)


def _default(entry: Field[Any]) -> Any:
    return entry.default if entry.default_factory is MISSING else entry.default_factory()


def _classes() -> dict[EventKind, type[EventData]]:
    named = [one for module in (event_types, change_events, prompt_events) for one in vars(module).values()]
    defined = [one for one in named if isinstance(one, type) and issubclass(one, EventData)]
    return {one.kind: one for one in defined if "kind" in vars(one)}


CLASSES: Mapping[EventKind, type[EventData]] = _classes()
FIELDS: Mapping[EventKind, tuple[FieldCodec, ...]] = {kind: _field_codecs(data) for kind, data in CLASSES.items()}

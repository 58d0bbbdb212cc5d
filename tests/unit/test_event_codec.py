"""One dataclass a kind, one codec: every event comes back from its JSON, and whoever reads or describes it agrees."""

import json
import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.change_events import ChangeData, InsightsWritten
from evolve.errors import ReplayError
from evolve.event_codec import CLASSES, FIELDS, decode, encode
from evolve.event_types import EventData, EventKind, RunPaused, RunWaiting
from evolve.events import Event
from evolve.extensions import Extension, ExtensionKind
from evolve.money import Money
from evolve.proposal import Charge, Usage
from evolve.reply_form import ReplyForm
from evolve.search import state
from service.ports import LoggedEvent
from service.schemas.event_kinds import EventSchema
from service.schemas.event_parts import EventBase
from tests.fakes.events import proposal_created

DATA = Path(__file__).parents[1] / "migration" / "data"
ENVELOPE = {*EventBase.model_fields, "kind"}
NUMBERS = st.integers(0, 10**6)
REALS = st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.text("abc_.", max_size=8)
USAGES = st.builds(Usage, input=NUMBERS, cached=NUMBERS, output=NUMBERS, reasoning=NUMBERS)
MONEY = st.builds(Money, amount=st.decimals(0, 10**6, places=4).map(abs).map(Decimal), currency=st.just("USD"))
CHARGES = st.builds(Charge, policy=NAMES, purpose=NAMES, usage=USAGES, cost=st.none() | MONEY, seconds=st.floats(0, 10))
FORMS = st.builds(ReplyForm, format=NAMES, edits=NAMES, answers=NUMBERS, samples=NUMBERS)
EXTENSIONS = st.builds(
    Extension, kind=st.sampled_from(ExtensionKind), name=NAMES, reference=NAMES, package=NAMES, version=NAMES
)
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    str: NAMES, int: NUMBERS, float: REALS, bool: st.booleans(),
    str | None: st.none() | NAMES, int | None: st.none() | NUMBERS, float | None: st.none() | REALS,
    float | str | None: st.none() | NAMES | REALS,
    tuple[str, ...]: st.lists(NAMES, max_size=3).map(tuple),
    tuple[float, ...]: st.lists(REALS, max_size=3).map(tuple),
    tuple[tuple[str, str], ...]: st.lists(st.tuples(NAMES, NAMES), max_size=3).map(tuple),
    tuple[tuple[str, int], ...]: st.lists(st.tuples(NAMES, NUMBERS), max_size=3).map(tuple),
    Mapping[str, Any]: st.dictionaries(NAMES, NAMES | st.dictionaries(NAMES, REALS, max_size=2), max_size=3),
    Mapping[str, int]: st.dictionaries(NAMES, NUMBERS, max_size=3),
    Mapping[str, float]: st.dictionaries(NAMES, REALS, max_size=3),
    Usage: USAGES, Usage | None: st.none() | USAGES, Money | None: st.none() | MONEY,
    tuple[Extension, ...]: st.lists(EXTENSIONS, max_size=2).map(tuple),
    ReplyForm | None: st.none() | FORMS, tuple[Charge, ...]: st.lists(CHARGES, max_size=2).map(tuple),
}  # fmt: skip


def schemas() -> dict[str, Any]:
    """The models of the document of the API, by kind."""
    models = typing.get_args(EventSchema.model_fields["root"].annotation)
    return {typing.get_args(model.model_fields["kind"].annotation)[0]: model for model in models}


def stored() -> list[tuple[EventKind, dict[str, Any]]]:
    """Events as earlier versions stored them."""
    rows = [row for path in DATA.glob("*.json") for row in json.loads(path.read_text())["events"]]
    return [(EventKind(row["kind"]), read(row["payload"])) for row in rows]


def read(payload: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(payload) if isinstance(payload, str) else payload
    return found


def test_every_kind_has_one_class() -> None:
    assert set(CLASSES) == set(EventKind)
    assert len(set(CLASSES.values())) == len(EventKind)


@given(data=st.data(), kind=st.sampled_from(list(EventKind)))
def test_every_event_comes_back_from_its_json(data: st.DataObject, kind: EventKind) -> None:
    hints = get_type_hints(CLASSES[kind])
    names = [entry.name for entry in fields(CLASSES[kind])]
    event = CLASSES[kind](**{name: data.draw(VALUES[hints[name]], label=name) for name in names})
    payload = json.loads(json.dumps(encode(event)))
    again = decode(kind, payload)
    assert encode(again) == payload
    for codec in FIELDS[kind]:
        if codec.key in payload:
            assert getattr(again, codec.name) == getattr(event, codec.name)


@pytest.mark.parametrize("kind", EventKind)
def test_a_required_field_that_is_missing_is_named(kind: EventKind) -> None:
    required = [codec.key for codec in FIELDS[kind] if codec.default is MISSING]
    if required:
        with pytest.raises(ReplayError, match=f"{kind} has no {required[0]}"):
            decode(kind, {})
    else:
        assert isinstance(decode(kind, {}), CLASSES[kind])


def test_a_field_of_another_type_is_named() -> None:
    payload = encode(proposal_created(1)) | {"parents": [["cnd_1"]]}
    with pytest.raises(ReplayError, match="parents of an event"):
        decode(EventKind.PROPOSAL_CREATED, payload)


def test_a_time_is_told_only_of_a_wait_that_has_one() -> None:
    assert encode(RunWaiting(reason="x")) == {"reason": "x"}
    assert encode(RunWaiting(reason="x", since="t")) == {"reason": "x", "since": "t", "retry_at": None}


def test_a_stored_event_goes_out_as_it_was_stored() -> None:
    payload = {"by": "ada", "of_a_later_version": 1}
    event = Event.stored(EventKind.RUN_PAUSED, payload)
    assert event.data == RunPaused(by="ada")
    assert event.payload is payload


def test_events_of_earlier_versions_are_read_and_written_as_they_were() -> None:
    found = stored()
    assert len({kind for kind, _ in found}) > 5
    for kind, payload in found:
        written = json.loads(json.dumps(encode(decode(kind, payload))))
        assert {key: written[key] for key in payload} == payload
        defaults = {codec.name: codec.default for codec in FIELDS[kind] if codec.key not in payload}
        assert {name: getattr(decode(kind, payload), name) for name in defaults} == defaults


@pytest.mark.parametrize("kind", EventKind)
def test_the_document_of_the_api_has_the_fields_of_the_dataclass(kind: EventKind) -> None:
    model = schemas()[kind]
    told = {entry.alias or name: entry for name, entry in model.model_fields.items() if name not in ENVELOPE}
    # The text of insights quotes programs: events that are sent leave it out.
    sent = [codec for codec in FIELDS[kind] if (kind, codec.key) != (EventKind.INSIGHTS_WRITTEN, "text")]
    assert set(told) == {codec.key for codec in sent}
    for codec in sent:
        omitted = codec.omitted or bool(codec.beside)
        assert not (omitted and told[codec.key].is_required()), f"{codec.key} may be left out of {kind}"


def test_insights_that_were_sent_are_read_without_their_text() -> None:
    written = InsightsWritten(change_id="ins_1", by="", text="- rings", source="facts", evaluations=8)
    logged = LoggedEvent(run_id="run_1", sequence=3, at=datetime(2026, 1, 1, tzinfo=UTC), event=Event(written))
    sent = logged.as_json()
    assert "text" not in sent
    assert Event.stored(EventKind.INSIGHTS_WRITTEN, sent).data == replace(written, text="")


def test_each_step_of_the_state_takes_the_data_of_its_kind() -> None:
    for kind, step in state._STEPS.items():
        hints = get_type_hints(step)
        taken = ChangeData if issubclass(CLASSES[kind], ChangeData) else CLASSES[kind]
        assert hints["data"] is taken, kind


def test_data_without_a_kind_are_no_event() -> None:
    bases = {base for data in CLASSES.values() for base in data.__mro__ if issubclass(base, EventData)}
    assert {base for base in bases if "kind" in vars(base)} == set(CLASSES.values())

"""Events as log entries: ids and counts, and no word of people, models or programs."""

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from evolve.change_events import ChangeRefused, HintGiven, InsightsWritten, SettingsChanged
from evolve.event_types import CandidateRejected, EventData, ProposalFailed, RunStarted
from evolve.events import Event
from evolve.policy_events import PromptWritten
from service.cli.event_log import EventLog, log_fields
from service.ports import LoggedEvent
from service.runner.status import RunStatus
from service.telemetry import configure_logging
from tests.unit.cli.recording import RUN

WORDS = "obey me, the key is s3cret"
AT = datetime(2026, 1, 1, tzinfo=UTC)
CHANGE: dict[str, Any] = {"change_id": "chg_1", "by": "ada"}
SETTINGS = {"operators.x.request": WORDS}


def logged(data: EventData) -> dict[str, Any]:
    stream = io.StringIO()
    configure_logging(1, stream)
    entry = LoggedEvent(run_id=RUN, sequence=2, at=AT, event=Event(data))
    EventLog().committed([entry], RunStatus(run_id=RUN))
    assert "s3cret" not in stream.getvalue()
    found: dict[str, Any] = json.loads(stream.getvalue())
    return found


@pytest.mark.usefixtures("_logs_as_before")
def test_who_asked_for_logs_gets_the_events() -> None:
    found = logged(RunStarted(by="x"))
    assert (found["event"], found["run_id"], found["sequence"], found["by"]) == ("run.started", RUN, 2, "x")


@pytest.mark.usefixtures("_logs_as_before")
@pytest.mark.parametrize(
    ("data", "fields"),
    [
        (HintGiven(**CHANGE, text=WORDS, proposals=3), {"change_id": "chg_1", "text_characters": 26, "proposals": 3}),
        (
            InsightsWritten(**CHANGE, text=WORDS, source="analyst", evaluations=8, policy="ann", reason=WORDS),
            {"reason_characters": 26, "source": "analyst", "evaluations": 8, "policy": "ann"},
        ),
        (
            PromptWritten(proposal_number=3, parent=0, problem=WORDS, request=""),
            {"proposal_number": 3, "problem_characters": 26, "request_characters": 0},
        ),
        (SettingsChanged(**CHANGE, settings=SETTINGS), {"settings_keys": ["operators.x.request"]}),
        (ChangeRefused(**CHANGE, requested="hint.given", reason=WORDS), {"reason_characters": 26}),
        (ProposalFailed(proposal_number=4, reason=WORDS), {"proposal_number": 4, "reason_characters": 26}),
        (
            CandidateRejected(
                candidate_id="cnd_1", proposal_number=4, position=0, island=0, parents=(), reason=WORDS
            ),
            {"candidate_id": "cnd_1", "reason_characters": 26},
        ),
    ],
)  # fmt: skip
def test_no_word_of_people_or_models_is_in_a_log(data: EventData, fields: dict[str, Any]) -> None:
    found = logged(data)
    assert {key: found[key] for key in fields} == fields


def test_of_an_event_of_a_later_version_a_log_has_where_it_is() -> None:
    told = {"kind": "run.dreamt", "run_id": RUN, "sequence": 9, "at": "2026-01-01T00:00:00Z", "dream": WORDS}
    assert log_fields(told) == {"run_id": RUN, "sequence": 9}

"""Traces are off unless OpenTelemetry's variables ask for them; what is sent is tested in tests/trackers."""

import sys

import pytest
from structlog.testing import capture_logs

from service import tracing
from service.db.statement_spans import summarize
from service.runner.run_tracer import RunTracer, open_tracer

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, False),
        ({"OTEL_SERVICE_NAME": "evolve"}, False),
        ({ENDPOINT: ""}, False),
        ({ENDPOINT: "http://localhost:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://localhost:4318/v1/traces"}, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({"OTEL_TRACES_EXPORTER": "console"}, True),
        ({"OTEL_TRACES_EXPORTER": "none", ENDPOINT: "http://localhost:4318"}, False),
        ({"OTEL_SDK_DISABLED": "TRUE", ENDPOINT: "http://localhost:4318"}, False),
    ],
)
def test_the_standard_variables_decide(environment: dict[str, str], wanted: bool) -> None:
    assert tracing.wanted(environment) is wanted


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_SDK_DISABLED", raising=False)
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")


@pytest.mark.usefixtures("asked")
def test_without_the_packages_the_service_runs_on_and_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with capture_logs() as said, tracing.traces_sent("evolve"):
        assert not tracing.enabled()
        with tracing.span("work") as span:
            span.note({"a": 1})
            span.fail("SomeError")
            assert span.traceparent == tracing.current_traceparent() == ""
    (warning,) = said
    assert (warning["event"], warning["log_level"]) == ("tracing.unavailable", "warning")
    assert "[otel]" in warning["advice"]


@pytest.mark.usefixtures("asked")
def test_an_unknown_protocol_is_named_and_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
    monkeypatch.setattr(tracing, "import_module", lambda _: None)
    with capture_logs() as said, tracing.traces_sent("evolve"):
        assert not tracing.enabled()
    assert "http/json" in said[0]["reason"]


def test_a_process_that_sends_no_traces_makes_no_spans() -> None:
    assert tracing.span("one") is tracing.span("another")
    assert not isinstance(open_tracer("run_1"), RunTracer)


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("INSERT INTO events (run_id) VALUES (?)", ("INSERT", "events")),
        ("SELECT a.b \nFROM runs AS a WHERE a.text = 'FROM x'", ("SELECT", "runs")),
        ("COPY events (run_id, kind) FROM STDIN", ("COPY", "events")),
        ("update candidates set a = 1", ("UPDATE", "candidates")),
        ("BEGIN IMMEDIATE", ("BEGIN", "")),
        ("", ("", "")),
    ],
)
def test_a_statement_is_summed_up_by_its_operation_and_table(statement: str, found: tuple[str, str]) -> None:
    assert summarize(statement) == found

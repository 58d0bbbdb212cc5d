import io
import json
import logging

import pytest
import structlog

from service.telemetry import configure_logging

pytestmark = pytest.mark.usefixtures("_logs_as_before")


def test_where_nobody_watches_logs_are_json_with_bound_fields() -> None:
    stream = io.StringIO()
    configure_logging(1, stream)
    structlog.get_logger("x").bind(run_id="run_1").info("candidate.evaluated", seconds=0.5)
    logging.getLogger("y").warning("plain %s", "words")
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert (first["event"], first["run_id"], first["seconds"], first["level"]) == (
        "candidate.evaluated", "run_1", 0.5, "info",
    )  # fmt: skip
    assert first["at"].endswith("Z")
    assert second["event"] == "plain words"


@pytest.mark.parametrize(
    ("verbosity", "told"), [(-1, ["error"]), (0, ["warning", "error"]), (1, ["info", "warning", "error"])]
)
def test_verbosity_decides_what_is_told(verbosity: int, told: list[str]) -> None:
    stream = io.StringIO()
    configure_logging(verbosity, stream)
    log = structlog.get_logger("x")
    for level in ("debug", "info", "warning", "error"):
        getattr(log, level)("event")
    assert [json.loads(line)["level"] for line in stream.getvalue().splitlines()] == told


@pytest.mark.parametrize("terminal", [True, False])
def test_no_value_of_a_variable_is_in_a_traceback(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    configure_logging(1, stream, color=False)

    def fail(key: str) -> None:
        try:
            raise RuntimeError(f"with {len(key)} characters")
        except RuntimeError:
            structlog.get_logger("test").exception("it.failed")

    fail("evo_s3cret")
    assert "with 10 characters" in stream.getvalue()
    assert "s3cret" not in stream.getvalue()

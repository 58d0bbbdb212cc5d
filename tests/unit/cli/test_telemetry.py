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

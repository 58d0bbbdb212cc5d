"""What machines must offer before they run what others wrote."""

from functools import partial

import pytest

from service.bootstrap import workers
from service.config import SandboxSettings, Settings
from service.errors import RefusedError
from service.queue.memory import MemoryBroker
from service.sandbox import examination
from service.sandbox.evaluator import open_evaluator
from service.sandbox.examination import SandboxReport
from service.sandbox.layers import IsolationLevel
from service.timestamps import SystemClock

ORDER = ("none", "weak", "medium", "strong")


def offering(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def examine(settings: SandboxSettings) -> SandboxReport:
        enough = ORDER.index(level) >= ORDER.index(settings.own)
        reason = "" if enough else f"the sandbox reaches the level {level}, and {settings.own} is required"
        return SandboxReport(level=level, required=settings.own, enough=enough, reason=reason)

    monkeypatch.setattr(examination, "examine_sandbox", examine)


@pytest.mark.parametrize(
    ("required", "offered", "starts"),
    [
        (None, "weak", False),
        (None, "medium", True),
        ("weak", "weak", True),
        ("none", "none", True),
        ("strong", "medium", False),
    ],
)
async def test_a_worker_requires_medium_isolation_unless_another_is_named(
    required: str | None, offered: str, starts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    offering(offered, monkeypatch)
    settings = Settings(sandbox=SandboxSettings.model_validate({"require": required}))
    opening = workers.open_local_worker(settings, MemoryBroker(clock=SystemClock()), slots=1)
    if starts:
        async with opening as opened:
            assert opened.heartbeat.isolation == offered
    else:
        with pytest.raises(RefusedError, match=f"{offered}.*is required"):
            await opening.__aenter__()


async def test_a_worker_that_refuses_to_start_names_the_layers_that_are_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(examination, "open_evaluator", partial(open_evaluator, force=IsolationLevel.WEAK))
    opening = workers.open_local_worker(Settings(), MemoryBroker(clock=SystemClock()), slots=1)
    with pytest.raises(RefusedError, match="weak, and medium is required") as refused:
        await opening.__aenter__()
    assert "landlock: " in str(refused.value)
    assert "seccomp: " in str(refused.value)
    assert "namespaces" not in str(refused.value)  # which medium does not need


def test_a_run_of_ones_own_is_content_with_weak_isolation() -> None:
    assert SandboxSettings().own == "weak"
    assert SandboxSettings().for_others().own == "medium"

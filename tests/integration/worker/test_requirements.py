"""What machines must offer before they run what others wrote."""

import pytest

from service.bootstrap import workers
from service.bootstrap.clock import SystemClock
from service.bootstrap.machine import SandboxReport
from service.config import SandboxSettings, Settings
from service.errors import RefusedError
from service.queue.memory import MemoryBroker

ORDER = ("none", "weak", "medium", "strong")


def offering(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def examine(settings: SandboxSettings) -> SandboxReport:
        enough = ORDER.index(level) >= ORDER.index(settings.own)
        return SandboxReport(level=level, required=settings.own, enough=enough)

    monkeypatch.setattr(workers, "examine_sandbox", examine)


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
            assert opened.beat.isolation == offered
    else:
        with pytest.raises(RefusedError, match=f"{offered}.*is required"):
            await opening.__aenter__()


def test_a_run_of_ones_own_is_content_with_weak_isolation() -> None:
    assert SandboxSettings().own == "weak"
    assert SandboxSettings().for_others().own == "medium"

"""The trackers of Evolve keep the rules of trackers with the real libraries."""

from functools import partial
from pathlib import Path

import pytest

from evolve.extensions import Extensions
from evolve.testing import TRACKER_RULES
from evolve.testing.trackers import TrackerRule
from evolve.trackers import TrackerChoice, open_tracker

# Warnings of the libraries are for those who write them.
pytestmark = [pytest.mark.trackers, pytest.mark.filterwarnings("default")]


@pytest.mark.parametrize("rule", TRACKER_RULES)
@pytest.mark.parametrize("name", ["mlflow", "tensorboard", "wandb"])
def test_a_tracker_keeps_the_rules(name: str, rule: TrackerRule, targets: dict[str, str]) -> None:
    rule(partial(open_tracker, TrackerChoice(name, targets[name]), Extensions()))


def test_wandb_without_a_key_is_refused_before_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import subprocess
    import sys

    for name in ("WANDB_MODE", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    program = "from service.usecases.track_run import read_choices; read_choices(['wandb'])"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode != 0
    assert "WANDB_MODE=offline" in ended.stderr

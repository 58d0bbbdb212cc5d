"""Targets that are folders of the tests alone; nothing leaves the machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def wandb_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where wandb writes: it reads its settings once in a process."""
    folder = tmp_path_factory.mktemp("wandb")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WANDB_MODE", "offline")
        patch.setenv("WANDB_DIR", str(folder))
        patch.setenv("WANDB_DATA_DIR", str(folder / "data"))
        yield folder


@pytest.fixture
def targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wandb_folder: Path) -> dict[str, str]:
    """A target for each tracker."""
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.chdir(tmp_path)
    return {
        "mlflow": f"sqlite:///{tmp_path / 'mlflow.db'}",
        "tensorboard": str(tmp_path / "runs"),
        "wandb": "tested",
    }

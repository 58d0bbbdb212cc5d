"""The command that a training job of mazes becomes."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from service.ports import TrainingJob
from service.trainer.maze import MazeBackend


def words(tmp_path: Path, base: Path | None, **request: Any) -> list[str]:
    job = TrainingJob(
        id="job_1", tenant="default", policy="walker", request={"kinds": ["small"], **request}, runs=(),
        created_by="test", created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    found = list(MazeBackend(threads=1).command(job, base, tmp_path))
    return found[found.index("train") :]


def test_a_job_trains_by_credit_to_each_answer_unless_it_names_a_method(tmp_path: Path) -> None:
    found = words(tmp_path, None)
    assert found[found.index("--method") + 1] == "vpo_marginal"
    found = words(tmp_path, None, method="grpo")
    assert found[found.index("--method") + 1] == "grpo"


def test_the_warm_start_of_a_base_is_not_continued(tmp_path: Path) -> None:
    found = words(tmp_path, None, warm_steps=5, steps=7)
    assert found[found.index("--warm-steps") + 1] == "5"
    found = words(tmp_path, tmp_path / "base", warm_steps=5, steps=7)
    assert "--warm-steps" not in found
    assert found[found.index("--base") + 1] == str(tmp_path / "base")
    assert found[found.index("--steps") + 1] == "7"

"""An exported run is a data set of Hugging Face: `datasets` itself loads it, and TRL's form of messages is kept."""

from pathlib import Path

import pytest

import evolve
from tests.command_line import call_here

pytestmark = pytest.mark.training


def test_datasets_loads_an_exported_run(tmp_path: Path) -> None:
    import datasets

    url, folder = f"sqlite:///{tmp_path / 'runs.db'}", tmp_path / "run"
    answers = iter(f"x = {number}\n" for number in range(8, 99))

    def write(prompt: str) -> str:
        return next(answers)

    result = evolve.run(
        "x = 7\n",
        evaluate=lambda source: -abs(int(source.split("=")[1]) - 42),
        policy=write,
        evaluations=6,
        storage=url,
    )
    environment = {"HOME": str(tmp_path)}
    said = call_here(
        ["export", result.run_id, "--format", "datasets", "-o", str(folder), "--db", url, "--json"], environment
    )
    assert said.code == 0, said.err
    cache = str(tmp_path / "cache")
    candidates = datasets.load_dataset(str(folder), "candidates", cache_dir=cache)["train"]
    proposals = datasets.load_dataset(str(folder), "proposals", cache_dir=cache)["train"]
    (told,) = said.lines
    assert (candidates.num_rows, proposals.num_rows) == (told["candidates"], told["proposals"])
    assert candidates.num_rows == 6
    assert max(candidates["fitness"]) == result.fitness
    assert candidates[0]["files"] == [{"path": "program.py", "text": "x = 7\n"}]
    first = proposals[0]
    assert [message["role"] for message in first["messages"]][-1] == "user"
    assert first["completions"] == ["x = 8\n"]
    assert first["answers"][0]["rewards"] == [-34.0]
    assert first["parent_files"] == [{"path": "program.py", "text": "x = 7\n"}]

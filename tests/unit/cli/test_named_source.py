"""Where a run came from, as `evolve show` names it."""

import json
from dataclasses import replace
from pathlib import Path

from service.cli.show import named_source
from service.ports import Bundle, RunRecord
from service.problems.bundle import pack
from service.problems.command.command_scorer.scorer import SETTINGS
from service.problems.folder import Folder
from tests.unit.test_comparison import told_run


def made_of(**settings: object) -> Bundle:
    return pack(Folder(files={"problem.toml": b"", SETTINGS: json.dumps(settings).encode()}))


def named(run: RunRecord, bundle: Bundle) -> str:
    return named_source(run, lambda _: bundle)


def test_a_run_on_a_script_names_the_script_and_not_a_folder_that_is_gone(tmp_path: Path) -> None:
    run = replace(told_run(1), source=str(tmp_path / "gone"))
    bundle = made_of(folder=str(tmp_path), sources=["fast.py", "lib/part.py"])
    assert named(run, bundle) == f"{tmp_path / 'fast.py'}, {tmp_path / 'lib/part.py'}"
    assert named_source(run, None) == run.source


def test_a_folder_that_is_there_and_a_problem_without_a_command_keep_their_names(tmp_path: Path) -> None:
    there = replace(told_run(1), source=str(tmp_path))
    assert named(there, made_of(folder="/x", sources=["a.py"])) == str(tmp_path)
    gone = replace(told_run(1), source=str(tmp_path / "gone"))
    assert named(gone, pack(Folder(files={"problem.toml": b""}))) == gone.source
    submitted = replace(told_run(1), source="api:key")
    assert named(submitted, made_of(folder="/x", sources=["a.py"])) == "api:key"

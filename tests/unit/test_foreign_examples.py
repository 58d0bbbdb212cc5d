"""The script that tries problems of other projects: what counts as equal, and who is to blame."""

import argparse
import sys
from pathlib import Path

import pytest

from scripts.foreign_direct import checkout_of, copied, direct_metrics
from scripts.foreign_examples import MISSING, OUR_READING, TOO_SLOW, TriedFolder, compare, done_before, folders, table


def tried(**more: object) -> TriedFolder:
    return TriedFolder(folder="project/a", format="gigaevo", **more)  # type: ignore[arg-type] # values of attributes


def test_a_metric_that_differs_between_two_direct_calls_is_noisy() -> None:
    one = tried()
    compare(one, {"gain": 1.0, "luck": 3.0}, {"gain": 1.0, "luck": 1.0}, {"gain": 1.0, "luck": 2.0})
    assert (one.compared, one.noisy, one.differing) == (1, ["luck"], [])


def test_a_time_is_noisy_and_another_metric_that_is_not_the_same_differs() -> None:
    one = tried()
    direct = {"eval_time": 1.0, "gain": 1.0, "times_better": 2.0, "runtime": 4.0}
    compare(one, {"gain": 1.0 + 1e-8, "eval_time": 2.0}, direct, direct)
    assert one.noisy == ["eval_time", "times_better", "runtime"]
    assert one.differing == ["gain"]


@pytest.mark.parametrize(("speedup", "differing"), [(0.8, []), (1.3, []), (6.1, ["speedup"]), (0.3, ["speedup"])])
def test_the_speedup_of_a_reference_over_itself_is_about_1(speedup: float, differing: list[str]) -> None:
    one = TriedFolder(folder="project/a", format="algotune")
    compare(one, {"speedup": speedup}, {"speedup": 1.0}, {"speedup": 1.0})
    assert one.differing == differing


def test_a_folder_that_fails_is_our_reading_only_where_its_own_evaluator_does_not() -> None:
    lacking = tried(direct="ModuleNotFoundError: No module named 'jax'", reason="the seed fails")
    misread = tried(direct="", reason="the seed fails")
    assert tried(direct="", reason="it took longer than 60 s").blame == TOO_SLOW
    assert tried(reason="the seed a.py fails (timeout): the evaluation ran longer than 60 s").blame == TOO_SLOW
    assert (lacking.blame, misread.blame, tried(ready=True).blame) == (MISSING, OUR_READING, "")
    shown = table([lacking, misread, tried(ready=True, compared=2, improved=True, evaluated=20)])
    assert "| project | `gigaevo` | 3 | 1 | 1 of 1 | 1 of 1 | 1 | 0 | 1 |" in shown
    assert "* project/a: missing: the seed fails (its own evaluator: ModuleNotFoundError" in shown


@pytest.mark.parametrize(
    ("known", "again"),
    [
        ({"direct": "no data", "reason": "the seed fails"}, True),
        ({"ready": True, "evaluated": 20, "ended": "evaluations"}, True),  # never compared
        ({"ready": True, "compared": 1, "evaluated": 20, "ended": "evaluations"}, False),
        ({"ready": True, "compared": 1, "evaluated": 3, "ended": "wall_seconds"}, True),
        ({"ready": True, "compared": 1, "evaluated": 1, "ended": "no_usable_answers"}, False),
    ],
)
def test_a_retry_tries_what_failed_or_ran_out_of_time(known: dict[str, object], again: bool) -> None:
    one = tried(**known)
    words = argparse.Namespace(evaluations=20, retry=True)
    assert done_before({one.folder: one}, one, words) is not again
    assert done_before({one.folder: one}, one, argparse.Namespace(evaluations=20, retry=False))


def test_a_direct_call_finds_what_lies_above_the_folder_and_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "root" / "project" / "problems" / "walk"
    (folder / "initial_programs").mkdir(parents=True)
    (folder / "initial_programs" / "a.py").write_text("def entrypoint():\n    return 2\n")
    (folder / "validate.py").write_text(
        "import os, sys\nsys.path.append(os.path.dirname(os.path.dirname(__file__)))\nfrom shared import SCALE\n"
        "def validate(output):\n    open('written', 'w').close()\n    return {'fitness': SCALE * output}\n"
    )
    (folder.parent / "shared.py").write_text("SCALE = 3\n")
    checkout = checkout_of(folder, tmp_path / "root")
    assert checkout == tmp_path / "root" / "project"
    assert direct_metrics("gigaevo", folder, checkout, sys.executable, 60.0) == ({"fitness": 6.0}, "")
    assert not (folder / "written").exists()
    (folder / "validate.py").write_text("raise RuntimeError('no data')\n")
    found, reason = direct_metrics("gigaevo", folder, checkout, sys.executable, 60.0)
    assert (found, reason) == ({}, "no first program is valid")


def test_a_checkout_that_is_a_folder_is_copied_whole(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "validate.py").write_text("")
    assert checkout_of(tmp_path / "root", tmp_path / "root") == tmp_path / "root"
    assert (copied(tmp_path / "root", tmp_path / "root", tmp_path / "copy") / "validate.py").is_file()


def test_folders_of_a_checkout_are_found_once_each_and_tests_of_it_are_passed_over(tmp_path: Path) -> None:
    for place in ("walk", "walk/older", "tests"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "initial.py").write_text("x = 1\n")
        (tmp_path / place / "evaluate.py").write_text("pass\n")
    assert [(folder.name, form) for folder, form, _ in folders(tmp_path)] == [("walk", "shinka")]

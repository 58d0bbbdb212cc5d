"""`evolve train` where the frameworks of training are not installed, and what it costs those who do not train."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from service.cli.exit_codes import USAGE

# As if a package were not installed.
WITHOUT = """
import sys
sys.modules |= dict.fromkeys(sys.argv[1].split(","))
from service.cli.main import main
raise SystemExit(main(sys.argv[2:]))
"""
LIGHT = """
import sys
from service.cli.main import main
main(sys.argv[1:])
heavy = ("training", "torch", "transformers", "matplotlib", "safetensors", "numpy")
print([name for name in heavy if name in sys.modules], file=sys.stderr)
"""


def python(code: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"})


@pytest.mark.parametrize("missing", ["torch", "torch,matplotlib", "torch,safetensors,matplotlib"])
def test_without_its_frameworks_training_says_what_to_install(tmp_path: Path, missing: str) -> None:
    done = python(WITHOUT, missing, "train", "maze", "-o", str(tmp_path / "x"))
    assert done.returncode == USAGE
    (sentence,) = done.stderr.splitlines()
    named, _, cure = sentence.removeprefix("evolve: training needs ").partition(": ")
    assert named.split(", ")[: missing.count(",") + 1] == missing.split(",")  # others may be absent too
    assert cure.startswith("install evolve-search[training]")
    assert "CPU build of torch" in sentence
    assert "docs/how-to/train-a-policy.md" in sentence
    assert not (tmp_path / "x").exists()
    assert (Path(__file__).parents[2] / "docs" / "how-to" / "train-a-policy.md").is_file()


def test_the_help_needs_no_framework() -> None:
    done = python(WITHOUT, "torch,safetensors,matplotlib", "train", "maze", "--help")
    assert done.returncode == 0
    assert "--warm-steps" in done.stdout


@pytest.mark.parametrize("words", [["--version"], ["train", "--help"], ["train", "maze", "--help"]])
def test_commands_that_do_not_train_import_nothing_of_training(words: list[str]) -> None:
    done = python(LIGHT, *words)
    assert done.stderr.splitlines()[-1] == "[]"

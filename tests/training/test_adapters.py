"""What holds of the adapters without their frameworks."""

import subprocess
import sys

import pytest

FRAMEWORKS = ("torch", "transformers", "trl", "peft", "verl", "datasets", "matplotlib")
ADAPTERS = ("training", "training.adapters")


@pytest.mark.parametrize("module", ADAPTERS)
def test_an_adapter_is_imported_without_its_framework(module: str) -> None:
    code = f"import sys, {module}; print([name for name in {FRAMEWORKS} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

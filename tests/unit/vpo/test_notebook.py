"""The notebook `examples/notebooks/vpo_toy.ipynb`, executed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

NOTEBOOK = Path(__file__).parents[3] / "examples" / "notebooks" / "vpo_toy.ipynb"


def test_grpo_collapses_and_vpo_covers(capsys: pytest.CaptureFixture[str]) -> None:
    space: dict[str, Any] = {}
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), space)
    assert "GRPO {'specialist 1'" in capsys.readouterr().out
    grpo, vpo = space["grpo"], space["vpo"]
    assert grpo[0].argmax() == 3
    assert grpo[0, 3] > 0.95
    assert sorted(vpo.argmax(axis=1).tolist()) == [0, 1, 2]
    assert (vpo.max(axis=1) > 0.9).all()
    assert space["scores"]["GRPO"] == pytest.approx(0.4, abs=0.03)
    assert space["scores"]["VPO"] > 0.57
    assert np.allclose(vpo.sum(axis=1), 1)

"""`evolve vpo check`: what is expected, what was found, and an exit code."""

from dataclasses import replace

import numpy as np
import pytest

import service.cli.vpo as module
from evolve.vpo import METHODS, Check, check_vectors
from tests.unit.cli.conftest import Evolve


def test_every_vector_is_shown_and_holds(evolve: Evolve) -> None:
    said = evolve("vpo", "check")
    assert said.code == 0
    assert all(f"\n{name} " in said.out for name in METHODS)
    assert "✗" not in said.out
    assert f"{len(check_vectors(np.random.default_rng(0)))} vectors match" in said.out
    # H_3 / 3 and H_4 / 4.
    assert "0.611111" in said.out
    assert "0.520833" in said.out


def test_each_vector_is_a_line_of_json(evolve: Evolve) -> None:
    said = evolve("vpo", "check", "--seed", "3", "--json")
    assert said.code == 0
    assert [line["name"] for line in said.lines] == [one.name for one in check_vectors(np.random.default_rng(0))]
    assert {(line["schema"], line["kind"], line["ok"]) for line in said.lines} == {(1, "vpo.check", True)}
    estimated = next(line for line in said.lines if line["name"] == "estimated: 2 specialists")
    assert estimated["expected"] == [0.75]
    assert abs(estimated["found"][0] - 0.75) <= estimated["tolerance"]


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_vector_that_is_missed_is_marked_and_fails(
    evolve: Evolve, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    def off(rng: np.random.Generator) -> tuple[Check, ...]:
        first, *others = check_vectors(rng)
        return (replace(first, found=(float("nan"),)), *others)

    monkeypatch.setattr(module, "check_vectors", off)
    said = evolve("vpo", "check", *words)
    assert said.code == 1
    if words:
        assert [line["found"] for line in said.lines if not line["ok"]] == [[None]]
    else:
        assert "✗ 1 of 27 vectors missed" in said.out

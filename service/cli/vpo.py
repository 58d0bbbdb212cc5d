"""The command `evolve vpo check`: test vectors of the set reward and of every estimator, against this installation."""

import math
from collections.abc import Sequence

import numpy as np

from evolve.vpo import Check, check_vectors
from service.cli import formatting
from service.cli.exit_codes import FAILED, OK
from service.cli.listing import plain_table
from service.cli.terminal import Terminal, plain


def check_vpo(terminal: Terminal, seed: int) -> int:
    """Show what each vector expects and what was found; 1 when one is missed.

    Args:
        terminal: where to.
        seed: of the generator that draws the weights of estimated rewards.
    """
    with terminal.doing("checking"):
        checks = check_vectors(np.random.default_rng(seed))
    missed = [check for check in checks if not check.holds]
    if terminal.as_json:
        for check in checks:
            terminal.emit({
                "kind": "vpo.check", "name": check.name, "expected": _numbers(check.expected),
                "found": _numbers(check.found), "tolerance": check.tolerance, "ok": check.holds,
            })  # fmt: skip
        return FAILED if missed else OK
    table = plain_table("vector", "expected>", "found>", "tolerance>", "ok")
    for check in checks:
        expected, found = _row(check)
        verdict = "✓" if check.holds else "✗"
        table.add_row(plain(check.name), expected, found, f"{check.tolerance:g}", verdict)
    terminal.show(table)
    if missed:
        terminal.show(plain(f"✗ {len(missed)} of {formatting.plural(len(checks), 'vector')} missed"))
        return FAILED
    terminal.show(f"✓ {formatting.plural(len(checks), 'vector')} match")
    return OK


def _row(check: Check) -> tuple[str, str]:
    digits = 4 if len(check.expected) > 1 else 6

    def line(values: Sequence[float]) -> str:
        return " ".join(f"{round(value, digits) + 0.0:.{digits}f}" for value in values)  # without a minus before zero

    expected, found = line(check.expected), line(check.found)
    return expected, found


def _numbers(values: Sequence[float]) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values]

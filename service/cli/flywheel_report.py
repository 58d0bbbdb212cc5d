"""The commands `evolve flywheel show` and `list`: the rounds of flywheels, as their batches and training jobs tell."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from service.bootstrap.sites import open_batches, open_site, open_training
from service.cli import formatting
from service.cli.listing import plain_table
from service.cli.terminal import Terminal, plain
from service.client.service_choice import SourceOptions
from service.config import load_settings
from service.errors import NotFoundError
from service.projections.flywheel import FlywheelRound, flywheel_round
from service.usecases.flywheel import flywheel_batches, recorded_rounds, round_result

NONE_YET = "there is no flywheel yet: begin one with evolve flywheel run NAME PROBLEM --policy POLICY"


def show_flywheel(terminal: Terminal, where: SourceOptions, name: str) -> None:
    """Print the rounds of a flywheel.

    Raises:
        NotFoundError: there is none of the name.
    """
    rounds = rounds_of(where, name)
    if terminal.as_json:
        for found in rounds:
            terminal.emit({"schema": 1, "kind": "flywheel.round", "flywheel": name, **asdict(found)})
        return
    show_rounds(terminal, rounds)


def rounds_of(where: SourceOptions, name: str) -> list[FlywheelRound]:
    """The rounds of a flywheel.

    Raises:
        NotFoundError: there is none of the name.
    """
    settings = load_settings()
    with open_batches(settings, where) as site, open_training(settings, where) as training:
        recorded = recorded_rounds(name, site.batches, training)
        results = [round_result(training, found) for found in recorded]
    if not recorded:
        raise NotFoundError(f"there is no flywheel {name[:64]!r}: evolve flywheel list shows those that there are")
    with open_site(settings, where) as records:
        return [
            flywheel_round(
                found.number, found.batch.id, found.runs, found.job, result, lambda run: records.points(run)(0)
            )
            for found, result in zip(recorded, results, strict=True)
        ]


def show_rounds(terminal: Terminal, rounds: list[FlywheelRound]) -> None:
    """Print rounds as a table."""
    budgets = [share.evaluations for share in next((found.shares for found in rounds if found.shares), ())]
    solved = [f"solved at {budget}" for budget in budgets]
    table = plain_table("round>", "searched with", "problems>", *solved, "best>", "trained", "held-out difference")
    for found in rounds:
        shares = [str(share) for share in found.shares] or [""] * len(budgets)
        table.add_row(
            str(found.number),
            plain(found.policy),
            str(found.problems),
            *shares,
            "" if found.best is None else formatting.number(found.best, 4),
            _trained(found),
            _difference(found.evaluation),
        )
    terminal.show(table)


def list_flywheels(terminal: Terminal, where: SourceOptions) -> None:
    """Print flywheels with the number of their rounds."""
    with open_batches(load_settings(), where, make=True) as site:
        found = flywheel_batches(site.batches)
    rows: list[dict[str, Any]] = [
        {"flywheel": name, "rounds": max(rounds), "began": rounds[min(rounds)].created_at}
        for name, rounds in sorted(found.items())
    ]
    if terminal.as_json:
        for row in rows:
            terminal.emit({"schema": 1, "kind": "flywheel", **row, "began": row["began"].isoformat()})
        return
    if not rows:
        terminal.note(NONE_YET)
        return
    table = plain_table("flywheel", "rounds>", "began")
    for row in rows:
        table.add_row(plain(row["flywheel"]), str(row["rounds"]), formatting.moment(row["began"]))
    terminal.show(table)


def _trained(found: FlywheelRound) -> str:
    if found.version is None:
        return {"search": "", "train": "waits"}.get(found.phase, "")
    return f"@{found.version}, {'promoted' if found.promoted else 'not promoted'}"


def _difference(evaluation: Mapping[str, Any]) -> str:
    if not evaluation:
        return ""
    return f"{evaluation['difference']:+.3f} [{evaluation['low']:+.3f}, {evaluation['high']:+.3f}]"

import re
from dataclasses import replace
from pathlib import Path

import pytest

from evolve.program import Program
from service.bootstrap.storage import open_storage
from service.cli.failures import remark
from service.cli.show import run_rows
from service.cli.summary import (
    gap_closed,
    next_commands,
    read_outcome,
    show_summary,
    summary_json,
    took_rows,
    used_model,
)
from service.cli.terminal import Terminal
from service.config import load_settings
from service.projections.run_site import stored_site
from service.schemas.failures import FailureGroup, RunFailures
from tests.unit.cli.conftest import Evolve
from tests.unit.cli.recording import RUN, SEED, Reply, packing_problem, record_run, sqlite_url, trade_problem


@pytest.mark.parametrize(
    ("seed", "best", "known", "share"),
    [
        (1.0, 3.0, 4.0, 2 / 3),
        (4.0, 2.0, 1.0, 2 / 3),
        (1.0, 1.0, 1.0, None),
        (None, 3.0, 4.0, None),
        (1.0, 5.0, 4.0, 4 / 3),
    ],
)
def test_the_share_of_the_gap_is_measured_from_the_seed(
    seed: float | None, best: float, known: float, share: float | None
) -> None:
    assert gap_closed(seed, best, known) == (None if share is None else pytest.approx(share))


def test_the_summary_tells_scores_gap_place_and_what_is_next(
    packing: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_storage(load_settings(), packing) as storage:
        outcome = read_outcome(storage.reader, RUN)
    show_summary(Terminal(), outcome, packing)
    out = capsys.readouterr().out
    rows = {line.rsplit(maxsplit=1)[0].strip(): line.split()[-1] for line in out.splitlines() if line.strip()}
    assert (rows["seed"], rows["best known"]) == ("1", "4")
    assert "the budget of evaluations is used up" in out
    assert "1 short of the best known radii, after 66.7 % of the way from the seed." in out
    assert "No model was used" in out
    assert "--policy http://localhost:8000/v1 --model NAME" in out
    assert packing in out
    assert f"evolve best {RUN[:17]} -o best.py" in out
    for command in next_commands(outcome):
        assert f"evolve {command}" in out


@pytest.mark.parametrize(
    ("source", "reason", "applied"),
    [
        ("/packing", "evaluations", True),
        ("api:default", "evaluations", False),
        ("/loop", "recorded", False),
    ],
)
def test_the_winner_of_files_on_this_machine_can_be_applied(
    packing: str, home: Path, source: str, reason: str, applied: bool
) -> None:
    with open_storage(load_settings(), packing) as storage:
        outcome = read_outcome(storage.reader, RUN)
    commands = next_commands(replace(outcome, run=replace(outcome.run, source=source, reason=reason)))
    assert (f"apply {RUN[:17]} --patch" in commands) is applied
    unchanged = replace(outcome, run=replace(outcome.run, source=source), best=outcome.seed)
    assert f"apply {RUN[:17]} --patch" not in next_commands(unchanged)


def test_answers_that_nobody_could_read_are_counted_beside_the_rejected_ones(packing: str, home: Path) -> None:
    def group(outcome: str, count: int) -> FailureGroup:
        return FailureGroup(outcome=outcome, reason=f"why {count}", count=count, seconds=0.0, seconds_share=None)

    groups = [group("unreadable", 38), group("rejected", 3), group("unreadable", 2)]
    failures = RunFailures(run_id=RUN, count=43, seconds=0.0, seconds_share=None, items=groups, omitted=0)
    with open_storage(load_settings(), packing) as storage:
        outcome = replace(read_outcome(storage.reader, RUN), failures=failures)
    assert str(dict(took_rows(outcome, packing))["skipped"]).endswith(" rejected answers, 40 unreadable")
    assert str(dict(run_rows(outcome.run, failures=failures))["answers"]).endswith(" rejected, 40 unreadable)")
    assert str(dict(run_rows(outcome.run))["answers"]).endswith(" rejected)")


def test_each_policy_without_a_model_is_named(packing: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_storage(load_settings(), packing) as storage:
        outcome = read_outcome(storage.reader, RUN)
    both = [{"name": "syntax", "kind": "syntax"}, {"name": "tuner", "kind": "tuner"}]
    show_summary(Terminal(), replace(outcome, run=replace(outcome.run, policies=both)), packing)
    said = capsys.readouterr().out
    assert "every program came from the built-in syntax mutator and the built-in tuner." in said


def test_a_model_is_not_denied(home: Path) -> None:
    url = sqlite_url(home / "model.db")
    record_run(url, packing_problem(), seed_scores={"radii": 1.0}, kind="openai")
    with open_storage(load_settings(), url) as storage:
        assert used_model(storage.reader.run(RUN))


def test_the_best_known_of_several_objectives_is_one_of_the_fitness(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = sqlite_url(home / "known.db")
    replies = [Reply(text="def pack():\n    return 5\n", scores={"accuracy": 0.9, "delay": 1.0})]
    record_run(url, replace(trade_problem(), known_best=0.95), replies, seed_scores={"accuracy": 0.4, "delay": 5.0})
    with open_storage(load_settings(), url) as storage:
        show_summary(Terminal(), read_outcome(storage.reader, RUN), url)
    out = capsys.readouterr().out
    (row,) = [line for line in out.splitlines() if line.startswith("best known")]
    assert row.split() == ["best", "known", "0.95"]
    # Fitness: means of 0.4 and 0.5, and of 0.9 and 0.9.
    assert "short of the best known fitness, after 90" in out


def test_several_objectives_have_a_column_each_and_the_fitness(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = sqlite_url(home / "trade.db")
    replies = [Reply(text="def pack():\n    return 5\n", scores={"accuracy": 0.9, "delay": 1.0})]
    record_run(url, trade_problem(), replies, seed_scores={"accuracy": 0.4, "delay": 5.0})
    with open_storage(load_settings(), url) as storage:
        show_summary(Terminal(), read_outcome(storage.reader, RUN), url)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["accuracy", "delay", "fitness"] in lines
    assert ["best", "0.9", "1", "0.9"] in lines


def test_the_json_summary_has_the_contracts_keys(packing: str, home: Path) -> None:
    with open_storage(load_settings(), packing) as storage:
        summary = summary_json(read_outcome(storage.reader, RUN))
    assert set(summary) == {
        "kind", "run_id", "state", "reason", "ended_by", "best", "seed_fitness", "known_best", "assessment",
        "evaluations", "answers", "valid", "failed", "duplicates", "rejected", "failures", "tokens", "cost", "seconds",
        "gain_shares",
    }  # fmt: skip
    assert set(summary["best"]) == {"candidate_id", "program_id", "scores", "fitness"}
    assert (summary["best"]["fitness"], summary["seed_fitness"], summary["known_best"]) == (3.0, 1.0, 4.0)
    assert (summary["evaluations"], summary["valid"], summary["failed"], summary["answers"]) == (4, 3, 1, 4)
    assert summary["tokens"] == {"input": 400, "cached": 160, "output": 80}


def test_a_run_without_success_says_so(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = sqlite_url(home / "none.db")
    record_run(url, packing_problem(), [], seed_scores=None, reason="error")
    with open_storage(load_settings(), url) as storage:
        outcome = read_outcome(storage.reader, RUN)
    show_summary(Terminal(), outcome, url)
    out = capsys.readouterr().out
    assert "no seed could be scored" in out
    assert "none: no program was evaluated with success" in out
    assert next_commands(outcome) == [f"candidates {RUN[:17]} --all"]
    assert summary_json(outcome)["best"] is None


@pytest.mark.parametrize(
    ("files", "target"),
    [
        ({"main.py": SEED}, "best.py"),
        ({"seed.c": "int x;\n"}, "best.c"),
        ({"Makefile": "all:\n"}, "best"),
        ({"main.py": SEED, "other.py": ""}, "best"),
    ],
)
def test_the_best_program_goes_where_one_of_its_kind_does(home: Path, files: dict[str, str], target: str) -> None:
    url = sqlite_url(home / "kinds.db")
    record_run(url, replace(packing_problem(), seeds=(Program.of(files),)), [], seed_scores={"radii": 1.0})
    with open_storage(load_settings(), url) as storage:
        assert next_commands(read_outcome(storage.reader, RUN))[0] == f"best {RUN[:17]} -o {target}"


@pytest.mark.parametrize(
    ("reason", "replies", "said"),
    [
        (
            "exhausted",
            [Reply(text=SEED)] * 12,
            "Nearly every answer was rejected or a duplicate (12 of 12); 12 times: ",
        ),
        ("evaluations", [Reply(text=SEED)] * 12, ""),
        ("exhausted", [Reply(text=f"def pack():\n    return {n}\n", scores={"radii": n}) for n in (2, 3)], ""),
        ("exhausted", [], "No answer came"),
    ],
)
def test_an_exhausted_run_says_what_its_answers_came_to(
    home: Path, capsys: pytest.CaptureFixture[str], reason: str, replies: list[Reply], said: str
) -> None:
    url = sqlite_url(home / "dry.db")
    record_run(url, packing_problem(), replies, seed_scores={"radii": 1.0}, reason=reason)
    with open_storage(load_settings(), url) as storage:
        outcome = read_outcome(storage.reader, RUN, failures=stored_site(storage.reader, url).failures)
    show_summary(Terminal(), outcome, url)
    out = capsys.readouterr().out
    assert outcome.run.state == "succeeded"
    found = remark(outcome.run, outcome.failures)
    assert found.startswith(said) if said else not found
    shown = [line for line in out.splitlines() if line.startswith(("Nearly", "No answer"))]
    assert shown == [found] * bool(said)


def test_a_failed_seed_is_shown_with_its_traceback(
    home: Path, evolve: Evolve, capsys: pytest.CaptureFixture[str]
) -> None:
    url = sqlite_url(home / "broken.db")
    record_run(url, packing_problem(), [], seed_scores=None, reason="error")
    with open_storage(load_settings(), url) as storage:
        outcome = read_outcome(storage.reader, RUN)
    show_summary(Terminal(), outcome, url)
    assert re.search(r"failed seed +0\.0 error:", capsys.readouterr().out)
    assert re.search(r"failed seed +0\.0 error:", evolve("show", "last", "--db", url).out)

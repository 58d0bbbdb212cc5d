"""The limit that ended a run is named with its source and its cure."""

from dataclasses import replace
from pathlib import Path

import pytest

from service.bootstrap.storage import open_storage
from service.cli.completions import completion_rows
from service.cli.end_reason import ending_limit, limit_sources, limit_words
from service.cli.show import show_anything
from service.cli.terminal import Terminal
from service.config import load_settings
from service.ports import ProposalRecord, RunRecord
from service.projections.run_site import stored_site
from tests.unit.cli.recording import RUN

FILE = {"wall_seconds": {"limit": 60.0, "from": "p/problem.toml"}}


@pytest.fixture
def run(packing: str, home: Path) -> RunRecord:
    with open_storage(load_settings(), packing) as storage:
        return replace(storage.reader.run(RUN), reason="wall_seconds", config={"budget": {"wall_seconds": 60.0}})


def test_a_time_limit_is_named_with_its_file_and_the_option_that_changes_it(run: RunRecord) -> None:
    limit = ending_limit(run, FILE)
    assert limit is not None
    assert limit_words(limit) == "60 s, set in p/problem.toml; change it with --set budget.wall_seconds=600"


def test_a_limit_that_was_extended_is_not_that_of_the_file(run: RunRecord) -> None:
    extended = replace(run, config={"budget": {"wall_seconds": 90.0}})
    limit = ending_limit(extended, FILE)
    assert limit is not None
    assert limit_words(limit).startswith("90 s, changed since the run began;")


def test_a_run_of_before_names_its_limit_without_a_source(run: RunRecord) -> None:
    limit = ending_limit(run, limit_sources([{"kind": "run.created", "by": "default"}]))
    assert limit is not None
    assert limit_words(limit) == "60 s; change it with --set budget.wall_seconds=600"


def test_what_is_no_limit_has_none(run: RunRecord) -> None:
    assert ending_limit(replace(run, reason="exhausted"), FILE) is None


@pytest.mark.parametrize(
    ("source", "words"),
    [("the flags", "set on the command line"), ("--set", "set by --set"), ("the default", "the default")],
)
def test_a_limit_says_who_set_it(run: RunRecord, source: str, words: str) -> None:
    limit = ending_limit(run, {"wall_seconds": {"limit": 60.0, "from": source}})
    assert limit is not None
    assert limit_words(limit).split("; ")[0] == f"60 s, {words}"


def test_a_proposal_is_shown_by_its_id(packing: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_storage(load_settings(), packing) as storage:
        wanted = storage.reader.proposal(RUN, 1)
        show_anything(Terminal(), stored_site(storage.reader, packing), wanted.id, source=False, prompt=False)
    out = capsys.readouterr().out
    assert wanted.id in out
    assert f"{wanted.operator}, policy {wanted.policy}" in out


def test_completions_that_were_cut_off_come_with_advice(packing: str, home: Path) -> None:
    with open_storage(load_settings(), packing) as storage:
        run, proposal = storage.reader.run(RUN), storage.reader.proposal(RUN, 1)

        class Cut(type(storage.reader)):  # type: ignore[misc]  # its class is made at run time
            def __init__(self) -> None:
                pass

            def proposal(self, run_id: str, number: int) -> ProposalRecord:
                return replace(proposal, finish_reasons=("length", "stop"))

        modelled = replace(run, policies=[{"kind": "openai"}], counters=replace(run.counters, proposals=1))
        assert completion_rows(Cut(), modelled) == [
            ("completions", "length 50.0 %, stop 50.0 % (a larger max_tokens, or fewer answers a chain, help)")
        ]
        assert completion_rows(Cut(), replace(modelled, policies=[{"kind": "syntax"}])) == []

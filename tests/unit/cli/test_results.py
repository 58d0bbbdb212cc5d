import csv
import io
import json
import re
import shlex
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from evolve.identity import candidate_name
from evolve.money import Money
from service.cli import formatting
from service.db.engine import open_database
from service.db.log import SqlRunLog
from service.errors import UsageError
from service.projections.best import read_weights
from service.timestamps import rfc3339
from tests.contract.story import FixedClock, Story, new_run
from tests.databases import sqlite_file
from tests.unit.cli.conftest import Evolve
from tests.unit.cli.recording import (
    RUN,
    SEED,
    Reply,
    packing_problem,
    record_run,
    shrinking_problem,
    sqlite_url,
    trade_problem,
)

OTHER = "run_01970000-bbbb-7bbb-8ccc-000000000002"
FAST = "def pack():\n    return 6\n"
EXACT = "def pack():\n    return 5\n"


@pytest.fixture
def trade(home: Path) -> str:
    url = sqlite_url(home / "trade.db")
    replies = [
        Reply(text=EXACT, scores={"accuracy": 0.9, "delay": 9.0}),
        Reply(text=FAST, scores={"accuracy": 0.5, "delay": 1.0}),
    ]
    record_run(url, trade_problem(), replies, seed_scores={"accuracy": 0.4, "delay": 5.0}, run_id=OTHER)
    return url


def candidates(evolve: Evolve, url: str) -> list[str]:
    """Ids in order of age."""
    return [line["candidate_id"] for line in evolve("export", "last", "--db", url).lines]


def test_runs_are_listed(evolve: Evolve, packing: str) -> None:
    said = evolve("runs", "--db", packing)
    assert said.code == 0
    heading, row = said.out.splitlines()
    assert heading.split() == [
        "run", "problem", "state", "best", "evaluated", "valid", "policy", "seed", "strategy", "age",
    ]  # fmt: skip
    assert row.split()[:9] == ["run_01970000-aaaa", "packing", "succeeded", "3", "4", "3", "syntax", "0", "islands"]
    (line,) = evolve("runs", "--db", packing, "--json").lines
    assert (line["run_id"], line["best_fitness"], line["counters"]["rejected"]) == (RUN, 3.0, 1)


def test_runs_that_cost_something_are_listed_with_their_cost(evolve: Evolve, packing: str, home: Path) -> None:
    url = sqlite_url(home / "priced.db")
    record_run(url, packing_problem(), seed_scores={"radii": 1.0}, cost=Money.read("0.25 USD"))
    heading, row = evolve("runs", "--db", url).out.splitlines()
    assert heading.split()[-2:] == ["cost", "age"]
    assert "1 USD" in row  # four answers
    heading, row = evolve("compare", "last", "--db", url).out.splitlines()[:2]
    assert heading.split()[-3:] == ["tokens", "cost", "policies"]
    assert "1 USD" in row
    (line,) = evolve("compare", "last", "--over", "money", "--json", "--db", url).lines
    assert (line["currency"], line["axis"][-1]) == ("USD", 1.0)


def test_tables_fit_eighty_columns(evolve: Evolve, packing: str, trade: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "66")
    youngest = candidates(evolve, packing)[-1]
    for words in (["runs"], ["candidates", "last", "--all"], ["lineage", youngest], ["show", RUN], ["best", RUN]):
        said = evolve(*words, "--db", packing)
        assert said.code == 0
        assert max(len(line) for line in said.out.splitlines()) <= 80


@pytest.mark.parametrize("name", ["last", RUN, "run_01970000-aaaa"])
def test_a_run_is_named_by_id_by_beginning_or_as_last(evolve: Evolve, packing: str, name: str) -> None:
    (line,) = evolve("show", name, "--db", packing, "--json").lines
    assert line["run_id"] == RUN


@pytest.mark.parametrize(
    "words", [["last", "2.0"], [RUN, "2.0"], ["last.2.0"], ["run_01970000-aaaa.2.0"], ["2.0"], ["01970000-aaaa", "2.0"]]
)
def test_a_candidate_is_shown_by_its_name_in_a_run(evolve: Evolve, packing: str, words: list[str]) -> None:
    (line,) = evolve("show", *words, "--db", packing, "--json").lines
    assert (line["run_id"], line["name"], line["candidate_id"]) == (RUN, "2.0", candidates(evolve, packing)[2])


def test_every_command_takes_the_name_that_a_table_shows(evolve: Evolve, packing: str) -> None:
    table = evolve("candidates", "last", "--all", "--db", packing).out.splitlines()
    assert [row.split()[0] for row in table[1:]] == [candidate_name(one) for one in candidates(evolve, packing)]
    (line,) = evolve("lineage", "last.4.0", "--db", packing, "--json").lines
    assert line["candidate_id"] == candidates(evolve, packing)[4]
    (told,) = evolve("diff", "last.1.0", "4.0", "--db", packing, "--json").lines
    assert (told["a"], told["b"]) == (candidates(evolve, packing)[1], candidates(evolve, packing)[4])
    assert "--- 1.0/main.py" in evolve("diff", "last.1.0", "4.0", "--db", packing).out


def test_a_name_that_is_not_there_says_which_are(evolve: Evolve, packing: str) -> None:
    said = evolve("show", "last", "2.7", "--db", packing)
    assert (said.code, len(said.err.splitlines())) == (3, 1)
    assert "has no candidate 2.7: those of proposal 2 are 2.0 to 2.0" in said.err
    assert evolve("show", "last", "seven", "--db", packing).code == 2


@pytest.mark.parametrize("name", ["run_ffffffff", "cnd_ffffffff", "ffffffff"])
def test_what_is_not_there_is_not_found(evolve: Evolve, packing: str, name: str) -> None:
    said = evolve("show", name, "--db", packing)
    assert said.code == 3
    assert len(said.err.splitlines()) == 1


def test_where_a_batch_is_told_of_is_said(evolve: Evolve, packing: str) -> None:
    said = evolve("show", "bat_ffffffff", "--db", packing)
    assert said.code == 2
    assert "evolve batch bat_ffffffff --detach" in said.err


def test_a_run_is_shown_with_its_configuration(evolve: Evolve, packing: str) -> None:
    said = evolve("show", "last", "--db", packing)
    assert "budget.evaluations" in said.out
    assert "succeeded (evaluations)" in said.out


def test_a_candidate_is_shown_with_source_and_prompt(evolve: Evolve, packing: str) -> None:
    failed = candidates(evolve, packing)[2]
    said = evolve("show", failed, "--source", "--prompt", "--db", packing)
    assert "the program raised ValueError" in said.out
    assert "    raise ValueError" in said.out
    assert "Improve it." in said.out
    assert re.search(r"selection +power_law *\nwhy this parent +rank 0 *\n", said.out)
    (line,) = evolve("show", failed[:12], "--source", "--prompt", "--json", "--db", packing).lines
    assert line["outcome"] == "error"
    assert line["files"] == {"main.py": "def pack():\n    raise ValueError\n"}
    assert line["proposal"]["tokens_cached"] == 40


def test_the_source_of_a_candidate_stands_alone_and_is_written_to_a_file(
    evolve: Evolve, packing: str, tmp_path: Path
) -> None:
    failed = candidates(evolve, packing)[2]
    text = "def pack():\n    raise ValueError\n"
    assert evolve("show", failed, "--source", "--db", packing).out == text
    assert evolve("show", failed, "-o", "-", "--db", packing).out == text
    target = tmp_path / "my program.py"
    said = evolve("show", failed, "--source", "-o", str(target), "--db", packing)
    assert (said.out, said.err, target.read_text()) == ("", f"written: {target}\n", text)
    (line,) = evolve("show", failed, "-o", str(target), "--json", "--db", packing).lines
    assert line["written"] == [str(target)]
    for words, code in (
        (["show", RUN, "-o", str(target)], 2),
        (["show", failed, "--prompt", "-o", str(target)], 2),
        (["show", failed, "-o", str(tmp_path / "none" / "x.py")], 3),
    ):
        said = evolve(*words, "--db", packing)
        assert (said.code, len(said.err.splitlines())) == (code, 1)


def test_commands_to_type_next_quote_paths(evolve: Evolve, home: Path) -> None:
    (home / "my runs").mkdir()
    url = sqlite_url(home / "my runs" / "my.db")
    record_run(url, packing_problem(), seed_scores={"radii": 1.0})
    said = evolve("show", "last", "--db", url)
    words = shlex.split(said.err.splitlines()[-1].removeprefix("next: "))
    assert words[-2:] == ["--db", url]
    assert evolve(*words[1:]).code == 0


def test_no_folder_is_made_for_a_database_of_another_name(evolve: Evolve, home: Path) -> None:
    problem = home / "problem"
    assert evolve("problem", "init", str(problem)).code == 0
    for words in (["run", str(problem), "--evaluations", "2"], ["keys", "create"], ["db", "upgrade"]):
        said = evolve(*words, "--db", sqlite_url(home / "typo" / "dir" / "x.db"))
        assert (said.code, len(said.err.splitlines())) == (3, 1)
        assert f"there is no folder {home / 'typo' / 'dir'}: make it" in said.err
        assert not (home / "typo").exists()
    assert evolve("run", str(problem), "--evaluations", "2").code == 0
    assert (home / "data" / "evolve" / "evolve.db").is_file()


def test_what_a_model_thought_is_shown_before_its_completion(evolve: Evolve, home: Path) -> None:
    database = open_database(sqlite_file(home / "thought.db"))
    try:
        log, story = SqlRunLog(database, FixedClock()), Story()
        log.create(new_run())
        seed = story.seed(1.0)
        told = [story.propose(1, story.id(0)), story.answer(1, reasoning=["let me \x1b[31m think"])]
        log.append(story.run_id, log.take(story.run_id, "test", 60.0), [*seed, *told])
    finally:
        database.close()
    said = evolve("show", story.run_id, "--proposal", "1", "--db", sqlite_url(home / "thought.db"))
    assert re.search(r"── reasoning of completion 1\s+let me .{0,8}\[31m think\s+── completion 1 stop", said.out)
    assert "\x1b" not in said.out


def test_what_decided_is_shown_wherever_there_was_a_choice(evolve: Evolve, home: Path) -> None:
    database = open_database(sqlite_file(home / "chosen.db"))
    try:
        log, story = SqlRunLog(database, FixedClock()), Story()
        log.create(new_run())
        told = [*story.seed(1.0), *story.child(1, story.id(0), 2.0)]
        log.append(story.run_id, log.take(story.run_id, "test", 60.0), told)
    finally:
        database.close()
    said = evolve("show", story.id(1), "--prompt", "--db", sqlite_url(home / "chosen.db"))
    rows = dict(re.findall(r"^(operator|weights|why this [a-z ]+?) {2,}(.+?) *$", said.out, re.MULTILINE))
    assert rows == {
        "operator": "drawn with 70.0 %",
        "weights": "0.25, 0.75",
        "why this parent": "rank 2; cases small, large",
        "why this island": "visits 9; gain 0.125; bonus 0.5",
        "why this second parent": "selection dirichlet; weights 0.5, 0.5; crowding –",
    }


def test_a_program_cannot_steer_the_terminal(evolve: Evolve, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = sqlite_url(home / "hostile.db")
    hostile = Reply(text="def pack():\n    return '\x1b[2J[bold]'\n", scores={"radii": 2.0})
    record_run(url, packing_problem(), [hostile], seed_scores={"radii": 1.0})
    candidate = candidates(evolve, url)[-1]
    assert "\x1b[2J" in evolve("show", candidate, "--source", "--db", url).out  # into a file it goes as it is
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for words in (["show", candidate, "--source"], ["show", candidate, "--prompt"], ["diff", candidate]):
        said = evolve(*words, "--db", url)
        assert "\x1b[2J" not in said.out
        assert "[bold]" in said.out


def test_best_is_the_fittest(evolve: Evolve, packing: str, tmp_path: Path) -> None:
    target = tmp_path / "best.py"
    (line,) = evolve("best", "last", "--json", "-o", str(target), "--db", packing).lines
    assert (line["scores"], line["fitness"]) == ({"radii": 3.0}, 3.0)
    assert line["written"] == [str(target)]
    assert target.read_text() == "def pack():\n    x = 3\n    return x\n"
    assert sorted(path.name for path in tmp_path.glob("*best.py*")) == ["best.py"]


def test_best_goes_to_stdout_as_it_is(evolve: Evolve, packing: str) -> None:
    assert evolve("best", "last", "-o", "-", "--db", packing).out == "def pack():\n    x = 3\n    return x\n"


@pytest.mark.parametrize(
    ("weights", "source"), [("accuracy=1", EXACT), ("delay=1", FAST), ("accuracy=1,delay=1", FAST)]
)
def test_best_under_weights_follows_the_weights(evolve: Evolve, trade: str, weights: str, source: str) -> None:
    assert evolve("best", "last", "--weights", weights, "-o", "-", "--db", trade).out == source


def test_the_weighted_value_is_the_weighted_mean_of_normalised_scores(evolve: Evolve, trade: str) -> None:
    (line,) = evolve("best", "last", "--weights", "accuracy=1,delay=3", "--json", "--db", trade).lines
    assert line["value"] == pytest.approx((1 * 0.5 + 3 * (1 - 1.0 / 10)) / 4)


def test_an_objective_without_bounds_is_normalised_by_its_range(evolve: Evolve, packing: str) -> None:
    (line,) = evolve("best", "last", "--weights", "radii=2", "--json", "--db", packing).lines
    assert (line["value"], line["scores"]) == (1.0, {"radii": 3.0})


def test_an_unknown_objective_names_the_nearest(evolve: Evolve, trade: str) -> None:
    said = evolve("best", "last", "--weights", "acuracy=1", "--db", trade)
    assert said.code == 2
    assert "accuracy" in said.err


@pytest.mark.parametrize("text", ["", "a", "a=", "a=1e300", "=1", "a=x", "a=-1", "a=nan", "a=0", "a=inf", "a=1,,b=2"])
def test_weights_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="weights"):
        read_weights(text)


@pytest.mark.parametrize("weights", [[], ["--weights", "radii=1"]])
def test_a_run_without_success_has_no_best(evolve: Evolve, home: Path, weights: list[str]) -> None:
    url = sqlite_url(home / "none.db")
    record_run(url, packing_problem(), [], seed_scores=None, reason="error")
    said = evolve("best", "last", *weights, "--db", url)
    assert said.code == 3
    assert "candidates --all" in said.err


def test_programs_lists_the_best_or_all(evolve: Evolve, packing: str) -> None:
    best = evolve("candidates", "last", "--json", "--db", packing).lines
    assert [line["fitness"] for line in best] == [3.0, 2.0, 1.0]
    every = evolve("candidates", "last", "--all", "--json", "--db", packing).lines
    assert [line["proposal_number"] for line in every] == [0, 1, 2, 3, 4]
    table = evolve("candidates", "last", "--all", "--db", packing).out
    assert [row.split()[2] for row in table.splitlines()[1:]] == ["ok", "ok", "error", "rejected", "ok"]


def test_programs_are_found_by_a_text_in_their_source(evolve: Evolve, packing: str) -> None:
    every = [["candidates", "last", "--text", text, "--json", "--db", packing] for text in ("X = 3", "pack", "absent")]
    assert [[line["fitness"] for line in evolve(*words).lines] for words in every] == [[3.0], [3.0, 2.0, 1.0], []]
    failed = evolve("candidates", "last", "--text", "valueerror", "--all", "--json", "--db", packing).lines
    assert [line["outcome"] for line in failed] == ["error"]
    limited = evolve("candidates", "last", "--text", "pack", "--limit", "1", "--json", "--db", packing).lines
    assert [line["fitness"] for line in limited] == [3.0]
    assert "no such candidate" in evolve("candidates", "last", "--text", "absent", "--db", packing).err


def test_the_metrics_of_a_run_are_shown(evolve: Evolve, trade: str) -> None:
    (line,) = evolve("show", OTHER, "--metrics", "--json", "--db", trade).lines
    assert (line["evaluations"], line["front"], line["answers"]["count"]) == (3, 2, 2)
    assert line["hypervolume"] == pytest.approx(0.5 * 0.9 + (0.9 - 0.5) * 0.1)
    shown = evolve("show", OTHER, "--metrics", "--db", trade)
    assert "best@k of answers" in shown.out
    assert "hypervolume" in shown.out
    for words in (["--metrics", "--source"], ["--prompt", "--metrics"]):
        refused = evolve("show", OTHER, *words, "--db", trade)
        assert (refused.code, len(refused.err.splitlines())) == (2, 1)


@pytest.fixture
def answering(home: Path) -> str:
    """A run that answers 42 twice, and once with marks that steer terminals, and is the fittest there."""
    url = sqlite_url(home / "answering.db")
    replies = [
        Reply(text=EXACT, scores={"radii": 1.5}, answer="42"),
        Reply(text=FAST, scores={"radii": 3.0}, answer="\x1b[31m41" + "x" * 100),
        Reply(text="def pack():\n    return 7\n", scores={"radii": 2.0}, answer="42"),
    ]
    record_run(url, packing_problem(), replies, seed_scores={"radii": 1.0})
    return url


def test_votes_are_counted_by_a_rule(evolve: Evolve, answering: str) -> None:
    (line,) = evolve("vote", "--json", "--db", answering).lines
    assert (line["votes"], line["answers"], line["winner"]["answer"]) == (3, 2, "42")
    assert line["confidence"] == pytest.approx(11 / 16)  # 1 - (C(4, 0) + C(4, 1)) / 2^4
    (best,) = evolve("vote", "last", "--rule", "best_of_majority", "--json", "--db", answering).lines
    assert best["winner"]["best_fitness"] == 3.0
    shown = evolve("vote", "last", "--db", answering)
    heading, first, second = shown.out.splitlines()[:3]
    assert heading.split() == ["votes", "share", "weight", "best", "score", "candidate", "answer"]
    assert (first.split()[:2], first.split()[-1]) == (["2", "66.7"], "42")
    assert "by majority of 3 votes: 42" in shown.out
    assert "68.8 %: more candidates may change it" in shown.out
    assert "\x1b" not in shown.out
    assert second.rstrip().endswith("…")
    none = evolve("vote", "last", "--rule", "best_of_majority", "--min-share", "0.9", "--db", answering)
    assert "no answer wins" in none.out
    assert "1 more answer" in evolve("vote", "last", "--limit", "1", "--db", answering).err
    assert evolve("vote", "last", "--rule", "plurality", "--db", answering).code == 2
    assert evolve("vote", "last", "--min-share", "1.5", "--db", answering).code == 2


def test_a_report_says_what_each_rule_chose(evolve: Evolve, answering: str, packing: str) -> None:
    text = evolve("report", "last", "-o", "-", "--db", answering).out
    section = text[text.index('<section id="answers">') :].partition("</section>")[0]
    said = " ".join(re.sub(r"<[^>]*>", "", section).split())
    assert "By majority: 42, 2 of 3 votes (66.7 %), the most frequent answer with a probability of 68.8 % (more" in said
    for rule in ("weighted", "best of majority"):
        assert re.search(rf"By {rule}: [^ ]*\[31m41x{{100}}, 1 of 3 votes \(33\.3 %\)\.", said)
    assert "3 candidates gave 2 different answers" in said
    assert section.count("<tr>") == 3
    assert "\x1b" not in section
    assert 'id="answers"' not in evolve("report", "last", "-o", "-", "--db", packing).out


def test_a_run_without_answers_says_where_they_come_from(evolve: Evolve, packing: str) -> None:
    said = evolve("vote", "last", "--db", packing)
    assert (said.code, said.out) == (0, "")
    assert "`answer`" in said.err


def test_answers_stand_with_their_candidates(evolve: Evolve, answering: str) -> None:
    rows = evolve("export", "last", "--db", answering).lines
    assert [row["answer"] for row in rows] == [None, "42", "\x1b[31m41" + "x" * 100, "42"]
    table = list(csv.DictReader(io.StringIO(evolve("export", "last", "--format", "csv", "--db", answering).out)))
    assert [row["answer"][:2] for row in table] == ["", "42", "\x1b[", "42"]
    listed = evolve("candidates", "last", "--db", answering).out
    assert listed.splitlines()[0].split()[-1] == "answer"
    assert "\x1b" not in listed
    shown = evolve("show", rows[1]["candidate_id"], "--db", answering).out
    assert re.search(r"^answer +42 *$", shown, re.MULTILINE)


def test_groups_of_runs_are_compared(evolve: Evolve, packing: str) -> None:
    (line,) = evolve("compare", "last", "--by", "strategy", "--json", "--db", packing).lines
    assert [group["title"] for group in line["groups"]] == ["islands"]
    named = evolve("compare", f"mine={RUN}", "--at", "2,3", "--db", packing)
    assert (named.code, "mine" in named.out) == (0, True)
    for words in ([f"mine={RUN}", "last"], ["last", "--by", "absent"], ["last", "--at", "x"], [f"a,b={RUN}"]):
        refused = evolve("compare", *words, "--db", packing)
        assert (refused.code, len(refused.err.splitlines())) == (2, 1)


def test_what_is_minimised_is_compared_by_its_score(evolve: Evolve, home: Path) -> None:
    url = sqlite_url(home / "waste.db")
    for number, waste in ((1, 2.5), (2, 3.5)):
        replies = [Reply(text=FAST, scores={"waste": waste})]
        run_id = f"run_01970000-cccc-7bbb-8ccc-00000000000{number}"
        record_run(url, shrinking_problem(), replies, seed_scores={"waste": 4.0}, run_id=run_id)
    ids = [line["run_id"] for line in evolve("runs", "--json", "--db", url).lines]
    listed = {line.split()[3] for line in evolve("runs", "--db", url).out.splitlines()[1:]}
    said = evolve("compare", *ids, "--at", "2", "--db", url)
    heading, *rows = said.out.splitlines()[:3]
    place = heading.split().index("best")
    assert {row.split()[place] for row in rows} == listed == {"2.5", "3.5"}
    assert "  score 3 ± 0.707; expected best of 1, 2, ... runs: 3, 2.5" in said.out
    (found,) = evolve("compare", *ids, "--json", "--db", url).lines
    assert {(run["direction"], run["final_fitness"]) for run in found["runs"]} == {
        ("minimize", -2.5),
        ("minimize", -3.5),
    }


def test_lineage_goes_from_the_seed_step_by_step(evolve: Evolve, packing: str) -> None:
    seed, first, *_, last = candidates(evolve, packing)
    (line,) = evolve("lineage", last, "--json", "--db", packing).lines
    assert [step["candidate_id"] for step in line["steps"]] == [seed, first, last]
    assert [step["delta"] for step in line["steps"]] == [None, 1.0, 1.0]
    assert [(step["added"], step["removed"]) for step in line["steps"][1:]] == [(1, 1), (2, 1)]
    shown = evolve("lineage", last, "--db", packing)
    assert [row.split()[1] for row in shown.out.splitlines()[1:]] == [
        candidate_name(one) for one in (seed, first, last)
    ]
    assert "2 steps, +2 from the seed" in shown.err


def test_the_line_of_a_rejected_candidate_ends_without_a_change(evolve: Evolve, packing: str) -> None:
    rejected = candidates(evolve, packing)[3]
    (line,) = evolve("lineage", rejected, "--json", "--db", packing).lines
    assert line["steps"][-1]["added"] is None


def test_diff_alone_is_against_the_parent(evolve: Evolve, packing: str) -> None:
    seed, first, *_, last = candidates(evolve, packing)
    alone = evolve("diff", last, "--db", packing)
    assert alone.out.splitlines() == [
        f"--- {candidate_name(first)}/main.py",
        f"+++ {candidate_name(last)}/main.py",
        "@@ -1,2 +1,3 @@",
        " def pack():",
        "-    return 2",
        "+    x = 3",
        "+    return x",
    ]
    assert evolve("diff", first, last, "--db", packing).out == alone.out
    (line,) = evolve("diff", seed, last, "--json", "--db", packing).lines
    assert (line["a"], line["b"], line["added"], line["removed"]) == (seed, last, 2, 1)


def test_a_seed_has_no_parent_to_compare_with(evolve: Evolve, packing: str) -> None:
    said = evolve("diff", candidates(evolve, packing)[0], "--db", packing)
    assert said.code == 2
    assert "is a seed" in said.err


def test_export_has_every_candidate_with_its_files(evolve: Evolve, packing: str, tmp_path: Path) -> None:
    lines = evolve("export", "last", "--db", packing).lines
    assert [line["status"] for line in lines] == ["evaluated"] * 3 + ["rejected", "evaluated"]
    assert lines[0]["files"] == {"main.py": SEED}
    assert lines[3]["files"] is None
    contract = {
        "candidate_id", "run_id", "program_id", "proposal_id", "parents", "island", "proposal_number", "position",
        "status", "outcome", "reason", "scores", "measures", "cases", "fitness", "files", "policy", "created_at",
        "evaluated_at",
    }  # fmt: skip
    assert all(contract <= line.keys() for line in lines)
    target = tmp_path / "run.jsonl"
    (told,) = evolve("export", "last", "-o", str(target), "--json", "--db", packing).lines
    assert told["candidates"] == 5
    assert [json.loads(line) for line in target.read_text().splitlines()] == lines


def test_export_has_other_forms(evolve: Evolve, packing: str, tmp_path: Path) -> None:
    every = evolve("export", "last", "--db", packing).lines
    table = evolve("export", "last", "--format", "csv", "--db", packing).out
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [row["candidate_id"] for row in rows] == [line["candidate_id"] for line in every]
    events = evolve("export", "last", "--format", "events", "--db", packing).lines
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    (told,) = evolve(
        "export", "last", "--format", "csv", "-o", str(tmp_path / "t.csv"), "--json", "--db", packing
    ).lines
    assert (told["candidates"], (tmp_path / "t.csv").read_bytes().decode()) == (5, table)
    (told,) = evolve("export", "last", "--format", "events", "-o", str(tmp_path / "e"), "--json", "--db", packing).lines
    assert told["events"] == len(events)
    assert evolve("export", "last", "--format", "csv", "--training", "--db", packing).code == 2


def test_a_parquet_file_holds_what_the_lines_do(evolve: Evolve, packing: str, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: make install")
    lines = evolve("export", "last", "--db", packing).lines
    target = tmp_path / "run.parquet"
    (told,) = evolve("export", "last", "--format", "parquet", "-o", str(target), "--json", "--db", packing).lines
    assert (told["candidates"], sorted(path.name for path in tmp_path.iterdir())) == (5, ["run.parquet", "runs.db"])
    table = parquet.read_table(target)
    rows = table.to_pylist()
    assert set(rows[0]) == set(lines[0]) - {"schema"}  # a member that exports gain has its column
    assert table.schema.metadata[b"schema"] == b"1"
    for row, line in zip(rows, lines, strict=True):
        for name in ("scores", "measures", "cases", "spread", "files"):
            row[name] = None if row[name] is None else dict(row[name])
        for name in ("created_at", "evaluated_at"):
            row[name] = row[name] and rfc3339(row[name])
        assert {**row, "schema": 1} == line


def test_a_data_set_is_a_folder_with_a_card_and_two_tables(evolve: Evolve, packing: str, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: make install")
    folder, where = tmp_path / "set", ("--db", packing)
    (told,) = evolve("export", "last", "--format", "datasets", "-o", str(folder), "--json", *where).lines
    candidates, proposals = (evolve("export", "last", *form, *where).lines for form in ((), ("--training",)))
    assert (told["candidates"], told["proposals"]) == (len(candidates), len(proposals))
    card = yaml.safe_load((folder / "README.md").read_text().split("---")[1])
    assert [one["config_name"] for one in card["configs"]] == ["candidates", "proposals"]
    rows = parquet.read_table(folder / "candidates.parquet").to_pylist()
    assert [row["candidate_id"] for row in rows] == [line["candidate_id"] for line in candidates]
    rows = parquet.read_table(folder / "proposals.parquet").to_pylist()
    assert [row["answers"] for row in rows] == [line["answers"] for line in proposals]
    assert [json.loads(row["asked"]) for row in rows] == [line["asked"] for line in proposals]


def test_a_data_set_needs_a_folder_that_is_empty(evolve: Evolve, packing: str, tmp_path: Path) -> None:
    assert "with -o" in evolve("export", "last", "--format", "datasets", "--db", packing).err
    (tmp_path / "mine").write_text("x")
    said = evolve("export", "last", "--format", "datasets", "-o", str(tmp_path), "--db", packing)
    assert said.code == 5
    assert "not an empty folder" in said.err


def test_parquet_without_what_writes_it_is_one_sentence(
    evolve: Evolve, packing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "name a file" in evolve("export", "last", "--format", "parquet", "--db", packing).err
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    said = evolve("export", "last", "--format", "parquet", "-o", str(tmp_path / "x"), "--db", packing)
    assert (said.code, len(said.err.splitlines()), (tmp_path / "x").exists()) == (2, 1, False)
    assert "pip install 'evolve-search[parquet]'" in said.err


def test_a_file_that_cannot_be_written_is_one_sentence(evolve: Evolve, packing: str, tmp_path: Path) -> None:
    said = evolve("export", "last", "-o", str(tmp_path / "absent" / "x"), "--db", packing)
    assert said.code == 3
    assert len(said.err.splitlines()) == 1


def test_a_device_is_written_through_and_stays_a_device(evolve: Evolve, packing: str) -> None:
    assert evolve("best", "last", "-o", "/dev/null", "--db", packing).code == 0
    assert Path("/dev/null").is_char_device()


def test_the_database_is_checked_and_upgraded(evolve: Evolve, home: Path) -> None:
    url = sqlite_url(home / "new.db")
    absent = evolve("db", "check", "--db", url, "--json")
    assert (absent.code, absent.lines[0]["state"]) == (1, "absent")
    assert evolve("db", "upgrade", "--db", url, "--json").lines[0]["from"] is None
    current = evolve("db", "check", "--db", url, "--json")
    assert (current.code, current.lines[0]["state"]) == (0, "current")
    assert "up to date" in evolve("db", "upgrade", "--db", url).out


def test_what_is_no_database_is_one_sentence(evolve: Evolve, home: Path) -> None:
    (home / "no.db").write_text("this is no database, and long enough to be read as none" * 20)
    said = evolve("runs", "--db", sqlite_url(home / "no.db"))
    assert said.code == 1
    assert len(said.err.splitlines()) == 1
    assert evolve("runs", "--db", "mysql://x").code == 2


def test_a_run_stands_for_its_best_where_a_candidate_is_asked_for(evolve: Evolve, packing: str) -> None:
    (best,) = evolve("best", RUN, "--db", packing, "--json").lines
    for name in ("last", RUN):
        (line,) = evolve("lineage", name, "--db", packing, "--json").lines
        assert line["candidate_id"] == best["candidate_id"]
        assert evolve("diff", name, "--db", packing, "--json").lines[0]["b"] == best["candidate_id"]


def test_ids_are_whole_on_a_narrow_terminal(evolve: Evolve, packing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "66")
    assert f"{RUN[:17]} " in evolve("runs", "--db", packing).out


def test_the_list_of_runs_leaves_out_what_has_no_room_and_never_the_problem(
    evolve: Evolve, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, name = sqlite_url(home / "long.db"), "shortest-tour-of-all-cities"
    record_run(url, replace(packing_problem(), name=name), seed_scores={"radii": 1.0})
    headings = []
    for columns in (160, 100, 70, 50, 40):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = evolve("runs", "--db", url).out.splitlines()
        headings.append(lines[0].split())
        assert max(map(len, lines)) <= columns
        if columns >= 60:
            assert name in lines[1]
        # Where not even the name has room in one line, it stands in several, to its end.
        start, end = lines[0].index("problem"), lines[0].index("best")
        assert "".join(line[start:end].strip() for line in lines[1:]).startswith(name)
    assert headings[1] == ["run", "problem", "state", "best", "evaluated", "policy", "seed", "age"]
    assert headings[2] == ["run", "problem", "state", "best"]
    assert headings[-1] == ["run", "problem", "best"]


def test_ages_are_told_in_their_largest_unit() -> None:
    told = [formatting.age(timedelta(seconds=seconds)) for seconds in (-5, 59, 60, 3599, 3600, 86399, 86400, 10**8)]
    assert told == ["<1 min", "<1 min", "1 min", "59 min", "1 h", "23 h", "1 d", "1,157 d"]


def test_what_is_minimised_is_read_as_its_score(evolve: Evolve, home: Path) -> None:
    url = sqlite_url(home / "waste.db")
    record_run(url, shrinking_problem(), [Reply(text=FAST, scores={"waste": 2.5})], seed_scores={"waste": 4.0})
    assert evolve("runs", "--db", url).out.splitlines()[1].split()[3] == "2.5"
    heading, first, second = evolve("candidates", "last", "--db", url).out.splitlines()
    assert (heading.split()[1], first.split()[1], second.split()[1]) == ("score", "2.5", "4")
    shown = [line.split() for line in evolve("show", "last", "--db", url).out.splitlines()]
    assert ["seed", "4"] in shown
    assert next(words for words in shown if words[0] == "best")[1] == "2.5"
    steps = evolve("lineage", "last", "--db", url)
    heading, first, second = steps.out.splitlines()
    assert (heading.split()[1], first.split()[2], second.split()[2:4]) == ("score", "4", ["2.5", "-1.5"])
    assert "1 step, -1.5 from the seed" in steps.err
    (line,) = evolve("lineage", "last", "--json", "--db", url).lines
    assert [step["fitness"] for step in line["steps"]] == [-4.0, -2.5]
    assert line["steps"][1]["delta"] == 1.5


def test_the_front_of_a_run_is_measured(evolve: Evolve, trade: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # In rewards (0.9, 0.1) and (0.5, 0.9), which beat the seed's (0.4, 0.5): two rectangles from the worse bounds.
    (line,) = evolve("show", OTHER, "--json", "--db", trade).lines
    volume = 0.5 * 0.9 + (0.9 - 0.5) * 0.1
    assert line["front"] == {"size": 2, "hypervolume": pytest.approx(volume), "exact": True}
    assert "2 candidates that no other dominates, hypervolume 0.49" in evolve("show", OTHER, "--db", trade).out
    monkeypatch.setattr("evolve.statistics.answer_sets.exact_volume", lambda *_: None)
    monkeypatch.setattr("service.projections.front.MAX_SAMPLED", 1)
    (line,) = evolve("show", OTHER, "--json", "--db", trade).lines
    assert line["front"]["size"] == 2
    assert (line["front"]["exact"], line["front"]["hypervolume"] < volume) == (False, True)
    assert "hypervolume about" in evolve("show", OTHER, "--db", trade).out


def test_the_front_is_measured_from_the_reference(evolve: Evolve, home: Path) -> None:
    problem = trade_problem()
    accuracy, delay = problem.objectives
    strict = replace(problem, objectives=(replace(accuracy, reference=0.5), replace(delay, reference=5.0)))
    url = sqlite_url(home / "strict.db")
    reply = Reply(text=FAST, scores={"accuracy": 0.7, "delay": 2.0})
    record_run(url, strict, [reply], seed_scores={"accuracy": 0.4, "delay": 5.0})
    (line,) = evolve("show", "last", "--json", "--db", url).lines
    assert line["front"] == {"size": 1, "hypervolume": pytest.approx((0.7 - 0.5) * (0.5 - 0.2)), "exact": True}


def test_a_run_of_one_objective_has_no_front(evolve: Evolve, packing: str) -> None:
    (line,) = evolve("show", "last", "--json", "--db", packing).lines
    assert line["front"] is None
    assert not re.search(r"^front\b", evolve("show", "last", "--db", packing).out, re.MULTILINE)
    assert "front" not in evolve("runs", "--json", "--db", packing).lines[0]

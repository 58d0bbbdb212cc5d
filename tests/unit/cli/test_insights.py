"""Facts of a recorded run, in words that a prompt may hold."""

from pathlib import Path

from evolve.search.hints import MAX_HINT_CHARACTERS, check_hint
from tests.unit.cli.conftest import Evolve
from tests.unit.cli.recording import RUN, Reply, packing_problem, record_run, shrinking_problem, sqlite_url


def test_facts_name_gains_failures_and_approaches(evolve: Evolve, packing: str) -> None:
    said = evolve("insights", "--db", packing)
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert lines[0] == "Facts from 4 evaluated candidates of this run:"
    gains = lines[lines.index("Changes that improved the best program, largest gain first:") + 1 :]
    assert "(4.0, mutate): replaced " in gains[0] + gains[1]
    assert "`x = 3`" in said.out
    assert "- 1 x error: the program raised ValueError" in lines
    (tried,) = [line for line in lines if line.startswith("- mutate: ")]
    assert "2 of 3 improved the best, 2 were valid, 0 repeated a program" in tried
    assert any(line.startswith("- 1 x rejected: ") for line in lines)
    assert not [line for line in lines if line.startswith("- seed")]


def test_a_minimised_score_is_shown_in_its_own_direction(evolve: Evolve, home: Path) -> None:
    url = sqlite_url(home / "shrinking.db")
    record_run(url, shrinking_problem(), [Reply(text="x = 1\n", scores={"waste": 2.5})], seed_scores={"waste": 4.0})
    assert "- 4 to 2.5 (1.0, mutate)" in evolve("insights", "--db", url).out


def test_facts_fit_into_a_hint_whatever_programs_say(evolve: Evolve, home: Path) -> None:
    url = sqlite_url(home / "hostile.db")
    reasons = [f"{'wide ' * 100}\x1b[31m\x07 reason {letter * 30}" for letter in "abcdefgh"]
    replies = [Reply(text=f"y = {number}\n", reason=reason) for number, reason in enumerate(reasons)]
    long = Reply(text="z = 1  # " + "\u202e\x9b" + "w" * 5000 + "\n", scores={"radii": 9.0})
    record_run(url, packing_problem(), [*replies, long], seed_scores={"radii": 1.0})
    text = evolve("insights", "--db", url, "--json").lines[0]["text"]
    assert len(text) <= MAX_HINT_CHARACTERS
    check_hint(text, 5, None, 1)
    assert "\u202e" not in text


def test_the_facts_of_an_ended_run_are_no_hint(evolve: Evolve, packing: str) -> None:
    said = evolve("insights", RUN, "--hint", "5", "--db", packing)
    assert said.code == 5
    assert said.out == ""


def test_a_run_without_insights_says_how_to_get_them(evolve: Evolve, packing: str) -> None:
    said = evolve("insights", "--versions", "--db", packing)
    assert "has no insights: set insights.every" in said.out


def test_a_version_is_edited_from_a_file_and_an_ended_run_takes_none(evolve: Evolve, packing: str, home: Path) -> None:
    notes = home / "notes.txt"
    notes.write_text("- try rings\n")
    said = evolve("insights", RUN, "--edit", str(notes), "--db", packing)
    assert said.code == 5
    missing = evolve("insights", RUN, "--edit", str(home / "none.txt"), "--db", packing)
    assert "there is no file" in missing.err
    both = evolve("insights", RUN, "--edit", str(notes), "--versions", "--db", packing)
    assert "exclude each other" in both.err

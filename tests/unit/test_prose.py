"""How the English of a page is counted, and how its ceilings shrink."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import typer

from scripts import prose
from scripts.prose import (
    Figures,
    Targets,
    command_blocks,
    complaints,
    lowered,
    markdown_blocks,
    measure,
    template_blocks,
)

TARGETS = Targets(mean_words=15.5, long_percent=6, you=10, what=2, ones=4, semicolons=1)
PAGE = "docs/explanation/a.md"
HOW_TO = "docs/how-to/a.md"


def figures_of(markdown: str) -> Figures:
    return measure(markdown_blocks(markdown))


def test_sentences_end_at_a_full_stop_before_a_capital() -> None:
    figures = figures_of('Start a run here. It takes 2.5 seconds on e.g. two cores. "Is this it?" Then wait a bit.')
    assert figures.sentences == 3  # "Is this it" has three words: a label
    assert figures.sentence_words == 4 + 8 + 4
    assert figures.words == 4 + 8 + 3 + 4
    assert figures.mean_words == pytest.approx(16 / 3)


def test_a_sentence_of_more_than_thirty_words_is_long() -> None:
    figures = figures_of(f"{'word ' * 30}.\n\n{'word ' * 31}.")
    assert (figures.sentences, figures.long) == (2, 1)
    assert figures.long_percent == 50


@pytest.mark.parametrize(
    "markdown",
    [
        "# What one sees; a heading",
        "```sh\nwhat; ones\n```",
        "    what; ones\n\n    what; ones",
        "1. Do it:\n\n   ```\n   what; ones\n   ```",
        "Do it `what; one`.",
        "Do it ([here](what;one.md)).",
        "<!-- what; one -->",
        "| `what` | what; one |",
        "![what; one](picture.svg)",
    ],
)
def test_what_is_not_prose_is_left_out(markdown: str) -> None:
    figures = figures_of(markdown)
    assert (figures.what, figures.ones, figures.semicolons) == (0, 0, 0)


def test_words_of_the_list_are_counted_in_prose_lists_and_long_cells() -> None:
    text = (
        "What you see is one thing; your\ncat sees ones.\n\n* whatever it is;\n  and whoever\n\n| `k` | "
        + "a " * 9
        + "one; |"
    )
    figures = figures_of(text)
    assert (figures.you, figures.what, figures.ones, figures.semicolons) == (2, 3, 3, 3)


def test_a_question_may_ask_what() -> None:
    assert figures_of("What does it cost? It costs what it is worth.").what == 1


def test_a_code_span_is_one_word() -> None:
    assert figures_of("Call `evolve run x --seed 1` in a [shell](a/b-c.md).").words == 5


def test_text_of_a_template_is_read_block_by_block() -> None:
    page = (
        "{# what #}{% if what %}<h1>What</h1><p title='what'>You see <code>one;</code>"
        " and {{ one }} here.</p>{% endif %}"
        "<ul><li>First item<li>Second item</ul><script>what; one</script>"
    )
    assert [*template_blocks(page)] == ["You see Code and Code here.", "First item", "Second item"]


def test_help_of_a_command_is_read_with_its_options_and_what_is_below_it() -> None:
    app, inner = typer.Typer(), typer.Typer(help="Below it.")

    @inner.command("deep")
    def deep(seed: int = typer.Option(1, help="Seed of every draw.")) -> None:
        """Go deep."""

    app.add_typer(inner, name="below")
    blocks = [*command_blocks(typer.main.get_command(app))]
    assert [block for block in blocks if block in ("Below it.", "Go deep.", "Seed of every draw.")] == [
        "Below it.", "Go deep.", "Seed of every draw.",
    ]  # fmt: skip


GOOD = Figures(words=1000, sentences=100, sentence_words=1000, long=6, you=10, what=2, ones=4, semicolons=1)


@pytest.mark.parametrize(
    ("worse", "name"),
    [({"long": 7}, PAGE), ({"what": 3}, PAGE), ({"ones": 5}, PAGE), ({"semicolons": 2}, PAGE), ({"you": 9}, HOW_TO),
     ({"sentence_words": 1551}, PAGE)],
)  # fmt: skip
def test_a_page_that_met_its_targets_must_meet_them(worse: Mapping[str, int], name: str) -> None:
    values = {field: getattr(GOOD, field) for field in Figures.__dataclass_fields__}
    assert not [*complaints({name: GOOD}, TARGETS, {})]
    (complaint,) = complaints({name: Figures(**{**values, **worse})}, TARGETS, {})
    assert complaint.startswith(f"{name}: ")


def test_a_page_that_only_explains_need_not_say_you() -> None:
    assert not [*complaints({PAGE: Figures(words=1000)}, TARGETS, {})]


def test_a_short_page_may_have_one_of_everything() -> None:
    short = Figures(words=50, sentences=2, sentence_words=50, long=1, what=1, ones=1, semicolons=1)
    assert not [*complaints({PAGE: short}, TARGETS, {})]


@pytest.mark.parametrize(("what", "allowed"), [(4, True), (5, True), (6, False)])
def test_a_page_keeps_below_its_ceiling(what: int, allowed: bool) -> None:
    found = {PAGE: Figures(words=1000, what=what)}
    assert ([*complaints(found, TARGETS, {PAGE: {"what": 5}})] == []) == allowed


@pytest.mark.parametrize(("you", "allowed"), [(4, True), (3, True), (2, False)])
def test_a_how_to_keeps_addressing_its_reader(you: int, allowed: bool) -> None:
    found = {HOW_TO: Figures(words=1000, you=you)}
    assert ([*complaints(found, TARGETS, {HOW_TO: {"you": 3}})] == []) == allowed


def test_ceilings_only_shrink() -> None:
    better, worse = Figures(words=1000, what=4), Figures(words=1000, what=9, ones=9)
    ceilings = {PAGE: {"what": 5}, HOW_TO: {"you": 3}, "gone": {"what": 7}}
    assert lowered({PAGE: better}, TARGETS, ceilings) == {PAGE: {"what": 4}}
    assert lowered({PAGE: worse}, TARGETS, ceilings) == {PAGE: {"what": 5}}
    assert lowered({PAGE: GOOD}, TARGETS, ceilings) == {}
    assert lowered({HOW_TO: Figures(words=1000, you=2)}, TARGETS, ceilings) == {HOW_TO: {"you": 3}}


def test_no_ceiling_returns_when_all_pages_have_met_their_targets() -> None:
    found = {PAGE: Figures(words=1000, what=9)}
    assert lowered(found, TARGETS, {}) == {}
    assert [*complaints(found, TARGETS, {})] == [f"{PAGE}: what met its target before, and is 9"]


def test_first_ceilings_are_the_figures_of_the_day() -> None:
    found = {PAGE: Figures(words=1000, what=9, sentences=10, sentence_words=160)}
    ceilings = lowered(found, TARGETS, None)
    assert ceilings == {PAGE: {"what": 9, "mean_words": 16.1}}
    assert not [*complaints(found, TARGETS, ceilings)]


@pytest.mark.parametrize("old", ["", '[tool.prose.ceilings]\n"old" = { what = 9 }\n"older" = { you = 9 }\n'])
def test_written_ceilings_are_read_again(old: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text(
        "[tool.prose]\n"
        "targets = { mean_words = 15.5, long_percent = 6, you = 10, what = 2, ones = 4, semicolons = 1 }\n"
        f"{old}[tool.other]\nkey = 1\n"
    )
    monkeypatch.setattr(prose, "PROJECT", project)
    ceilings = {PAGE: {"mean_words": 16.1, "what": 9.0}, "evolve run": {"semicolons": 2.0}}
    prose.write_ceilings(ceilings)
    assert prose.settings() == (TARGETS, ceilings)
    assert "[tool.other]\nkey = 1\n" in project.read_text()

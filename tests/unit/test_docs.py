"""The documentation says what the code does: keys, defaults, commands, codes, events, tables, links."""

import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import typer
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

import migrations
from evolve.archives import Status
from evolve.configuration import default_keys
from evolve.evaluation import Outcome
from evolve.events import EventKind
from evolve.prompt.templates import TEMPLATES
from service import config
from service.cli import exit_codes as command
from service.cli.app import app
from service.db.columns import Base
from service.policy_settings.settings import PolicySettings
from service.problems.configuration import known_keys
from service.problems.formats.openevolve_keys import HONOURED
from service.problems.native import _TABLES, _Document

TOP = Path(__file__).parents[2]
REFERENCE = TOP / "docs" / "reference"
PAGES = sorted(
    [
        *(TOP / "docs").rglob("*.md"),
        *(TOP / "examples").rglob("*.md"),
        *(TOP / "skills").rglob("*.md"),
        *TOP.glob("*.md"),
    ],
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
# A command at the beginning of a line, after a prompt, or as the whole of a code span; a comment ends it.
COMMAND = re.compile(r"(?:^(?: {4}|\$ |)|`)(evolve [^`\n]*)", re.MULTILINE)


def name_of(page: Path) -> str:
    return str(page.relative_to(TOP))


def table(page: Path) -> dict[str, list[str]]:
    """Rows of a page's tables by each code span of their first cell."""
    rows: dict[str, list[str]] = {}
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if line.startswith("|"):
            rows |= dict.fromkeys(re.findall(r"`([^`]+)`", cells[0]), cells[1:])
    return rows


def written(value: object) -> str:
    """A default as the tables write it."""
    if value is None:
        return "none"
    return "empty" if value == "" else f"`{json.dumps(value)}`"


def test_every_key_of_a_run_is_documented_with_its_default() -> None:
    rows = table(REFERENCE / "configuration.md")
    defaults = default_keys()
    assert set(defaults) == set(known_keys())
    assert {key: rows[key][0] for key in defaults} == {key: written(value) for key, value in defaults.items()}


def test_every_setting_is_documented_with_its_variable_and_default() -> None:
    rows = table(REFERENCE / "configuration.md")
    for key in config.known_keys():
        assert rows[key][0] == f"`{config.PREFIX}{key.replace('.', '__').upper()}`"
    sandbox = config.SandboxSettings().model_dump()
    assert {key: rows[f"sandbox.{key}"][1].strip("`") for key in sandbox} == {
        key: value if isinstance(value, str) else json.dumps(value) for key, value in sandbox.items()
    }


def fields(model: type[BaseModel]) -> dict[str, Any]:
    """Defaults of a model by name, leaving out needed fields and sub-tables."""
    found = {field.alias or name: field.default for name, field in model.model_fields.items()}
    return {name: value for name, value in found.items() if value is not PydanticUndefined}


def test_every_key_of_a_problem_is_documented_with_its_default() -> None:
    page = REFERENCE / "problem-file.md"
    rows, text = table(page), page.read_text(encoding="utf-8")
    for name in (field.alias or key for key, field in _Document.model_fields.items()):
        assert f"[{name}]" in text if name in {*_TABLES, "search"} else name in rows, name
    for name, model in _TABLES.items():
        assert {f"{name}.{key}" for key in model.model_fields} <= set(rows)
        # What a default of nothing means is said in words; a bound of a measure runs.
        said = {key: value for key, value in fields(model).items() if value not in ("", None)}
        assert {key: rows[f"{name}.{key}"][0] for key in said} == {key: written(value) for key, value in said.items()}


def test_every_key_of_a_policy_file_is_documented_with_its_default() -> None:
    rows = table(REFERENCE / "policy-file.md")
    assert set(PolicySettings.model_fields) <= set(rows)
    said = {key: value for key, value in fields(PolicySettings).items() if value not in ("", None)}
    assert {key: rows[key][0].split(" (")[0] for key in said} == {key: written(value) for key, value in said.items()}


@cache
def root() -> Any:
    """The program with all of its commands, which takes 30 ms to make."""
    return typer.main.get_command(app)


def options(words: tuple[str, ...]) -> set[str]:
    """Options of a command, or of the program itself; those of its parents count as well."""
    node: Any = root()
    found = {"-h", "--help"}
    for word in (None, *words):
        node = node if word is None else node.commands[word]
        found |= {name for parameter in node.params for name in parameter.opts if name.startswith("-")}
    return found


def commands() -> list[tuple[str, ...]]:
    def below(node: Any, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        for name, child in getattr(node, "commands", {}).items():
            inner = list(below(child, (*words, name)))
            yield from inner or [(*words, name)]

    return list(below(root(), ()))


def options_table(text: str, command: str) -> str:
    """The table of the options of a command that has one of its own."""
    return text.partition(f"Options of `evolve {command}`:\n\n")[2].partition("\n\n")[0]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_is_documented_with_its_options(words: tuple[str, ...]) -> None:
    page = REFERENCE / "command-line.md"
    text, rows = page.read_text(encoding="utf-8"), table(page)
    row = next(
        (span for span in rows if span == f"evolve {' '.join(words)}" or span.startswith(f"evolve {' '.join(words)} ")),
        None,
    )
    assert row, f"evolve {' '.join(words)} stands in no table"
    own = options(words) - options(())
    where = text if words == ("run",) else " ".join(rows[row]) + options_table(text, " ".join(words))
    assert not [option for option in own if not re.search(rf"{option}\b", where)]


def test_the_options_of_every_command_are_documented() -> None:
    text = (REFERENCE / "command-line.md").read_text(encoding="utf-8")
    assert not [option for option in options(()) if f"`{option}`" not in text and f"`evolve {option}`" not in text]


def written_commands() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for found in COMMAND.findall(page.read_text(encoding="utf-8")):
            yield name_of(page), found


def test_commands_in_the_documentation_exist_with_these_options() -> None:
    known, off = commands(), []
    pages = list(written_commands())
    assert len(pages) > 50
    for page, line in pages:
        words = shlex.split(line.partition("#")[0].replace("…", ""))[1:]
        named = next((entry for entry in known if tuple(words[: len(entry)]) == entry), None)
        wrong = [
            word
            for word in takewhile(lambda word: word != "--", words)  # what follows is for another program
            if word.startswith("-") and word != "-" and word.partition("=")[0] not in options(named or ())
        ]
        group = not named and words and not words[0].startswith("-") and words[0] != "COMMAND"
        off += [(page, line)] if wrong or group else []
    assert not off


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_relative_links_resolve(page: Path) -> None:
    broken = []
    for link in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        if link.startswith(("http://", "https://")):
            continue
        if not target.exists() or not target.is_relative_to(TOP) or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert not broken


def test_every_page_is_reached_from_the_index() -> None:
    reached, waiting = set(), [TOP / "docs" / "README.md"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        links = LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
        near = {(page.parent / link.partition("#")[0]).resolve() for link in links if not link.startswith("http")}
        waiting += [target for target in near if target.suffix == ".md" and target not in reached and target.exists()]
    assert not [name_of(page) for page in PAGES if page.is_relative_to(TOP / "docs") and page not in reached]


def test_every_kind_of_event_is_documented() -> None:
    page = REFERENCE / "events.md"
    assert {span for span in table(page) if "." in span} == {str(kind) for kind in EventKind}
    inserted = table(page)["individual.inserted"][0]
    assert all(f"`{status}`" in inserted for status in Status)


def test_every_outcome_is_documented() -> None:
    assert set(table(REFERENCE / "outcomes.md")) == {str(outcome) for outcome in Outcome}


def test_exit_codes_are_those_of_the_command_line() -> None:
    text = (REFERENCE / "command-line.md").read_text(encoding="utf-8")
    section = text.partition("## Exit codes")[2].partition("\n## ")[0]
    listed = {int(code): meaning for code, meaning in re.findall(r"^\| (\d+) \| (.+) \|$", section, re.MULTILINE)}
    words = {
        command.OK: "ok", command.FAILED: "failed", command.USAGE: "usage", command.NOT_FOUND: "not found",
        command.REFUSED: "refused", command.CONFLICT: "conflict", command.UNREACHABLE: "policy unreachable",
        command.TARGET_MISSED: "target not reached", command.INVALID: "problem invalid",
        command.INTERRUPTED: "interrupted",
    }  # fmt: skip
    assert set(listed) == set(words)
    assert all(listed[code].startswith(word) for code, word in words.items())
    assert all(f"`{name}`" in section for _, _, name in command.OUTCOMES)


def test_every_table_and_column_is_documented() -> None:
    rows = table(REFERENCE / "database.md")
    for name, described in Base.metadata.tables.items():
        listed = {column.strip() for column in re.sub(r"\([^)]*\)", "", rows[name][1]).split(",")}
        assert listed == {column.name for column in described.columns}, name


def test_every_template_is_documented_with_its_placeholders() -> None:
    rows = table(TOP / "docs" / "how-to" / "custom-prompts.md")
    for name, template in TEMPLATES.items():
        cells = " ".join(rows[name])
        assert all(f"`{placeholder}`" in cells for placeholder in (*template.required, *template.optional)), name


def test_every_honoured_key_of_an_openevolve_project_is_documented() -> None:
    assert set(table(TOP / "docs" / "how-to" / "openevolve.md")) == HONOURED


def test_every_revision_of_the_database_is_told_of() -> None:
    text = (TOP / "docs" / "how-to" / "upgrade.md").read_text()
    assert tuple(re.findall(r"^\| `(\d{4}_\w+)` \|", text, re.MULTILINE)) == migrations.REVISIONS

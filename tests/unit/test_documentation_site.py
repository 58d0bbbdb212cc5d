"""The pages that the documentation site has beside those of `docs/`, and how the others are fitted to it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer

from scripts.documentation.commands import command_reference
from scripts.documentation.llms import llms_index, write_page
from scripts.documentation.markdown import (
    loaded_from_elsewhere,
    repository_path,
    site_path,
    targets,
    with_site_details,
    with_site_links,
    with_site_lists,
)
from scripts.documentation.navigation import navigation, numbered_pages, sections
from scripts.documentation.rest import rest_reference
from service.cli.app import app

TOP = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("repository", "site"),
    [("docs/how-to/vote.md", "how-to/vote.md"), ("examples/maze/README.md", "project/examples/maze/README.md"),
     ("scripts/figures.py", "project/scripts/figures.py.md")],
)  # fmt: skip
def test_files_have_their_place_in_the_site(repository: str, site: str) -> None:
    assert site_path(repository) == site
    if repository.endswith(".md"):
        assert repository_path(site) == repository


@pytest.mark.parametrize(
    ("page", "link", "expected"),
    [
        ("docs/tutorial.md", "how-to/vote.md#rules", "how-to/vote.md#rules"),
        ("docs/how-to/vote.md", "../reference/api.md", "../reference/api.md"),
        ("docs/how-to/vote.md", "../../examples/maze/README.md#a", "../project/examples/maze/README.md#a"),
        ("docs/how-to/vote.md", "../images/a.svg", "../images/a.svg"),
        ("examples/maze/README.md", "../../docs/images/a.svg", "../../../images/a.svg"),
        ("README.md", "docs/tutorial.md", "../tutorial.md"),
        ("README.md", "scripts/figures.py#L10", "scripts/figures.py.md"),
        ("README.md", "#try-it", "#try-it"),
        ("README.md", "https://example.com/a.md", "https://example.com/a.md"),
    ],
)
def test_links_of_the_repository_hold_in_the_site(page: str, link: str, expected: str) -> None:
    assert with_site_links(f"A [word]({link}).", page) == f"A [word]({expected})."


def test_links_in_code_are_left_as_they_are() -> None:
    text = "[a](docs/a.md)\n```\n[b](docs/b.md)\n```\n[c](docs/c.md)"
    assert [*targets(text, "README.md")] == ["docs/a.md", "docs/c.md"]
    assert with_site_links(text, "README.md") == "[a](../a.md)\n```\n[b](docs/b.md)\n```\n[c](../c.md)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1. One\n\n   more\n\n       code\n", "1. One\n\n    more\n\n        code\n"),
        ("* One\n  more\n* Two\n\n  | a |\n", "* One\n    more\n* Two\n\n    | a |\n"),
        ("* One\n\nText\n\n  odd\n", "* One\n\nText\n\n  odd\n"),
        ("Text\n\n    code\n", "Text\n\n    code\n"),
    ],
)
def test_what_belongs_to_a_list_item_is_indented_by_four(text: str, expected: str) -> None:
    assert with_site_lists(text) == expected


def test_markdown_within_details_is_markdown_unless_it_is_code() -> None:
    assert with_site_details("<details>\n\n*a*") == '<details markdown="1">\n\n*a*'
    assert with_site_details("```\n<details>\n```") == "```\n<details>\n```"


@pytest.mark.parametrize(
    ("page", "addresses"),
    [
        ('<script src="https://cdn.example/a.js"></script>', ["https://cdn.example/a.js"]),
        ('<link rel="stylesheet" href="//fonts.example/a.css">', ["//fonts.example/a.css"]),
        ('<img alt="a" src="http://example.com/a.png">', ["http://example.com/a.png"]),
        ('<a href="https://example.com">there</a><script src="assets/a.js"></script><img src="../a.svg">', []),
    ],
)
def test_pages_that_load_from_other_hosts_are_found(page: str, addresses: list[str]) -> None:
    assert loaded_from_elsewhere(page) == addresses


def test_the_navigation_is_the_index() -> None:
    index = (
        "# Documentation\n\nStart with the [tutorial](tutorial.md).\n\n**How to**\n\n"
        "* [`Vote`](how-to/vote.md): which\n"
        "* [Write](how-to/write.md), or see [maze](../examples/maze/README.md)\n\n"
        "## Reference\n\n* [API](reference/api.md)\n"
    )
    assert navigation(index, {"Reference": ["reference/more.md"]}) == [
        {"Home": "README.md"},
        "tutorial.md",
        {"How to": [{"Vote": "how-to/vote.md"}, {"Write": "how-to/write.md"}]},
        {"Reference": [{"API": "reference/api.md"}, "reference/more.md"]},
    ]


def test_every_page_of_the_documentation_is_in_the_navigation() -> None:
    docs = TOP / "docs"
    entries = navigation((docs / "README.md").read_text(), {})
    entries += numbered_pages((docs / "decisions" / "README.md").read_text(), "decisions")
    named = set(re.findall(r"[\w/.-]+\.md", json.dumps(entries)))
    assert named == {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    assert {"How to", "Reference", "Explanation"} <= {name for name, _ in sections(entries)}


def test_the_command_reference_has_every_command_and_option() -> None:
    root: Any = typer.main.get_command(app)
    page = command_reference(root)
    assert "`--json`" in page.partition("\n### evolve db backup\n")[2].partition("\n#")[0]
    for name, command in root.commands.items():
        section = page.partition(f"\n## evolve {name}\n")[2].partition("\n## ")[0]
        assert section
        assert not [one for one in command.params if one.opts[0].startswith("-") and f"`{one.opts[0]}" not in section]


def test_the_rest_reference_has_every_operation_and_schema() -> None:
    document = json.loads((TOP / "docs" / "openapi.json").read_text())
    pages = rest_reference(document)
    operations = [one["operationId"] for item in document["paths"].values() for one in item.values()]
    headings = [one for page in pages.values() for one in re.findall(r"^## (\S+)", page, re.MULTILINE)]
    assert sorted(headings) == sorted([*operations, *document["components"]["schemas"]])


def test_links_to_schemas_lead_to_their_headings() -> None:
    pages = rest_reference(json.loads((TOP / "docs" / "openapi.json").read_text()))
    named = {one for page in pages.values() for one in re.findall(r"\]\((?:schemas\.md)?#([^)]+)\)", page)}
    assert len(named) > 50
    assert named <= set(re.findall(r"\{ #(\S+) ", pages["schemas"]))


def test_the_index_for_language_models_names_every_page_of_the_index() -> None:
    index = (TOP / "docs" / "README.md").read_text(encoding="utf-8")
    text = llms_index(index, {"REST API: Runs": "reference/rest/runs.md"})
    assert text.startswith("# Evolve\n\n> ")
    listed = re.findall(r"^- \[.+?\]\((.+?)\)", text, re.MULTILINE)
    named = re.findall(r"^\* \[.+?\]\((.+?\.md)\)", index, re.MULTILINE)
    assert [path for path in listed if "/rest/" not in path] == named
    assert all((TOP / "docs" / path).is_file() for path in named)
    assert text.index("## Reference") < text.index("reference/rest/runs.md") < text.index("## Explanation")


def test_the_markdown_of_a_page_is_beside_its_html(tmp_path: Path) -> None:
    write_page(tmp_path, "how-to/vote.md", "# Vote\n")
    assert (tmp_path / "how-to" / "vote.md").read_text() == "# Vote\n"

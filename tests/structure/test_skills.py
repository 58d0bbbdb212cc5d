"""Skills of agents have the standard form, which agents read before anything else of them."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

TOP = Path(__file__).parents[2]
SKILLS = sorted((TOP / "skills").iterdir())


def front_matter(folder: Path) -> dict[str, Any]:
    head = re.match(r"---\n(.*?)\n---\n", (folder / "SKILL.md").read_text(encoding="utf-8"), re.DOTALL)
    assert head, "SKILL.md begins with its front matter"
    read = yaml.safe_load(head[1])
    assert isinstance(read, dict)
    return read


def test_there_is_a_skill() -> None:
    assert [folder.name for folder in SKILLS] == ["evolve"]


@pytest.mark.parametrize("folder", SKILLS, ids=lambda folder: folder.name)
def test_the_front_matter_names_the_folder_and_says_when_to_use_it(folder: Path) -> None:
    read = front_matter(folder)
    assert set(read) == {"name", "description"}
    assert read["name"] == folder.name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", read["name"])
    assert "Use " in read["description"]
    assert len(read["description"]) <= 1024


@pytest.mark.parametrize("folder", SKILLS, ids=lambda folder: folder.name)
def test_a_skill_is_short_and_its_references_are_there(folder: Path) -> None:
    text = (folder / "SKILL.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 500
    linked = re.findall(r"\]\(([^):]+\.md)\)", text)
    assert linked
    assert all((folder / path).is_file() for path in linked)

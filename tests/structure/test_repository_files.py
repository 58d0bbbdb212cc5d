"""The files by which hosts, editors and tools know the repository agree with what it has."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import evolve

TOP = Path(__file__).parents[2]
FORMS = sorted((TOP / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
MAKEFILE = (TOP / "Makefile").read_text(encoding="utf-8")


def parsed(*names: str) -> Any:
    return yaml.safe_load(TOP.joinpath(*names).read_text(encoding="utf-8"))


def made(text: str) -> set[str]:
    """What a text makes by `make`."""
    return set(re.findall(r"\bmake ([a-z-]+)", text))


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))


def test_the_workflow_runs_what_decides() -> None:
    job = parsed(".github", "workflows", "ci.yml")["jobs"]["ci"]
    assert ".ci/run" in job["steps"][-1]["run"].split()
    limit = re.search(r"LIMIT_SECONDS=(\d+)", (TOP / ".ci" / "run").read_text(encoding="utf-8"))
    assert limit
    assert job["timeout-minutes"] * 60 > int(limit[1])


def test_what_holds_for_the_superuser_is_tested_as_the_superuser() -> None:
    assert "test-root" in made((TOP / ".ci" / "run").read_text(encoding="utf-8"))
    named = re.search(r"^ROOT_TESTS := (.*)$", MAKEFILE, re.MULTILINE)
    assert named
    covered = [TOP / name for name in named[1].split()]
    assert all(path.exists() for path in covered)
    marker = re.compile(r"^(@|pytestmark = )pytest\.mark\.root\b", re.MULTILINE)
    marked = [path for path in TOP.glob("tests/**/test_*.py") if marker.search(path.read_text(encoding="utf-8"))]
    assert len(marked) > 5
    assert [path for path in marked if not {path, *path.parents} & set(covered)] == []


def test_what_decides_builds_the_documentation() -> None:
    assert "docs" in made((TOP / ".ci" / "run").read_text(encoding="utf-8"))


def test_the_hooks_before_a_commit_are_the_parts_of_make_lint() -> None:
    (repository,) = parsed(".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    lint = re.search(r"^lint: (.+?) ##", MAKEFILE, re.MULTILINE)
    assert lint
    assert sorted(hook["entry"] for hook in repository["hooks"]) == sorted(f"make {one}" for one in lint[1].split())
    assert {hook["language"] for hook in repository["hooks"]} == {"system"}


@pytest.mark.parametrize("form", [form for form in FORMS if form.stem != "config"], ids=lambda form: form.stem)
def test_an_issue_form_asks_by_labelled_fields(form: Path) -> None:
    document = parsed(*form.relative_to(TOP).parts)
    assert document["name"]
    assert document["description"]
    fields = [field for field in document["body"] if field["type"] != "markdown"]
    assert all(field["attributes"]["label"] for field in fields)
    assert len({field["id"] for field in fields}) == len(fields) > 1


def test_every_target_that_the_files_name_is_in_the_makefile() -> None:
    files = [
        TOP / ".github" / "PULL_REQUEST_TEMPLATE.md", TOP / ".pre-commit-config.yaml", TOP / "tests" / "README.md",
        TOP / ".devcontainer" / "devcontainer.json", TOP / "CONTRIBUTING.md",
    ]  # fmt: skip
    named = {path.name: made(path.read_text(encoding="utf-8")) for path in files}
    assert all(named.values())
    assert {name: words - targets() for name, words in named.items() if words - targets()} == {}


def test_the_citation_is_of_this_version() -> None:
    citation = parsed("CITATION.cff")
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert citation["version"] == evolve.__version__
    assert citation["license"] == project["license"]
    assert citation["abstract"] == f"{project['description']}."
    assert {"cff-version", "message", "title", "authors"} <= set(citation)


def test_the_development_container_has_a_python_that_the_project_takes() -> None:
    container = json.loads((TOP / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    version = re.fullmatch(r"python:3\.(\d+)-\w+", container["image"])
    assert version
    assert int(version[1]) >= 11


def test_the_guide_to_the_tests_names_every_folder_and_only_what_there_is() -> None:
    guide = (TOP / "tests" / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/]+(?:\.py)?)`", guide))
    folders = {path.parent.name for path in (TOP / "tests").glob("*/__init__.py")}
    assert folders <= named
    paths = {name for name in named if "/" in name or name.endswith(".py") or name in folders}
    assert [name for name in sorted(paths) if not (TOP / "tests" / name).exists() and not (TOP / name).exists()] == []

"""What the document of the API says of configuration keys: the sentences of the reference, and bounds that hold."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evolve.errors import ConfigurationError
from service.problems.configuration import known_keys, read_config
from service.schemas.configuration import KEYWORDS
from service.schemas.key_descriptions import CONFIGURATION_KEYS, POLICY_KEYS, PROBLEM_KEYS
from service.schemas.policies import PolicyDescription

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
TABLES = {"configuration.md": CONFIGURATION_KEYS, "problem-file.md": PROBLEM_KEYS, "policy-file.md": POLICY_KEYS}
SAYING = {"insights.text", "learning.model", "prompt.system", "prompt.template_dir", "stopping_rule"}
TEXTS = {key for key in known_keys() if key in SAYING}
UNBOUNDED = {"variants", "budget.money", "budget.target"} | TEXTS
# What else must be said for the largest value to be taken.
BESIDE: Mapping[str, Mapping[str, Any]] = {"archive.front": {"archive.kind": "cvt"}}


def written(file: str) -> dict[str, str]:
    """The last cell of every row of a page's tables, by each key of the first one, without links."""
    found: dict[str, str] = {}
    for line in (REFERENCE / file).read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            for key in re.findall(r"`([a-z_.]+)`", cells[0]):
                found.setdefault(key, plain(cells[-1]))
    return found


def plain(cell: str) -> str:
    asides = r" \(\[[^\]]*\]\([^)]*\)\)|[:;,]? see \[below\]\([^)]*\)| \[Why\]\([^)]*\)"
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(asides, "", cell)).strip()


@pytest.mark.parametrize("file", TABLES)
def test_descriptions_are_the_sentences_of_the_reference(file: str) -> None:
    there = written(file)
    assert {key: there[key] for key in TABLES[file]} == TABLES[file]


def test_every_key_has_its_sentence() -> None:
    assert set(CONFIGURATION_KEYS) == set(known_keys())
    assert set(POLICY_KEYS) == set(PolicyDescription.model_fields)


def test_every_key_of_a_configuration_is_bounded() -> None:
    assert set(KEYWORDS) == set(known_keys()) - UNBOUNDED


def outside(words: Mapping[str, Any]) -> list[Any]:
    """Values just beyond the bounds."""
    found: list[Any] = ["no such word"] if {"enum", "examples"} & set(words) else []
    found += [{"no such word": 1.0}] if "propertyNames" in words else []
    found += [words["minimum"] - 1] if "minimum" in words else []
    found += [words["exclusiveMinimum"]] if "exclusiveMinimum" in words else []
    return found + ([words["maximum"] * 2] if "maximum" in words else [])


def inside(words: Mapping[str, Any]) -> list[Any]:
    """Values at the bounds."""
    found = [*words.get("enum", ()), *words.get("examples", ())]
    names = words.get("propertyNames", {})
    found += [{name: 1.0} for name in (*names.get("enum", ()), *names.get("examples", ()))]
    found += [words[bound] for bound in ("minimum", "maximum") if bound in words]
    return found + ([words["exclusiveMinimum"] + 0.5] if "exclusiveMinimum" in words else [])


@pytest.mark.parametrize("key", KEYWORDS)
def test_the_bounds_in_the_document_are_those_that_hold(key: str) -> None:
    for value in inside(KEYWORDS[key]):
        read_config([("the test", {**BESIDE.get(key, {}), key: value})])
    for value in outside(KEYWORDS[key]):
        with pytest.raises(ConfigurationError):
            read_config([("the test", {key: value})])

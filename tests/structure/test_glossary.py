"""Names of the product are made of the glossary's terms and of ordinary words, and nothing there is unused."""

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from evolve.events import EventKind
from service import config
from service.db.tables import all_tables
from service.schemas.key_descriptions import CONFIGURATION_KEYS, POLICY_KEYS, PROBLEM_KEYS
from tests.structure.wire_names import forms_of, metric_names, users_of_words, wire_names, words_of

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "glossary.md"
HEADING = "## Ordinary words"
CURE = "use a term of docs/glossary.md, or add the word there: a row for a concept, else to the ordinary words"


def rows(page: str) -> list[list[str]]:
    lines = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| term ")]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]


def ordinary_words(page: str) -> list[str]:
    return page.partition(HEADING)[2].partition("```\n")[2].partition("```")[0].split()


def formed(words: Iterable[str]) -> set[str]:
    return {form for word in words for form in forms_of(word)}


def unknown_words(names: Iterable[tuple[str, str]], page: str) -> list[str]:
    """A sentence for each word that the page does not have."""
    known = formed(word for row in rows(page) for word in words_of(row[0])) | formed(ordinary_words(page))
    return [
        f'"{word}" in {", ".join(users[:3])}: {CURE}'
        for word, users in sorted(users_of_words(names).items())
        if word not in known
    ]


def unused_words(names: Iterable[tuple[str, str]], page: str) -> list[str]:
    """Terms and ordinary words that no name holds, and ordinary words that are words of a term or of one another."""
    used = set(users_of_words(names))
    terms = {word for row in rows(page) for word in words_of(row[0])}
    ordinary = ordinary_words(page)
    found = [f"the term {row[0]}" for row in rows(page) if any(not forms_of(word) & used for word in words_of(row[0]))]
    found += [f"the ordinary word {word}" for word in ordinary if not forms_of(word) & used]
    found += [f"the ordinary word {word}, which a term has" for word in ordinary if word in formed(terms)]
    return found


@cache
def shown() -> tuple[tuple[str, str], ...]:
    return tuple(wire_names())


@cache
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def places() -> Iterator[str]:
    yield from json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))["paths"]
    yield from (table.name for table in all_tables())
    yield from (kind.value for kind in EventKind)
    yield from (*CONFIGURATION_KEYS, *PROBLEM_KEYS, *POLICY_KEYS, *config.known_keys())
    yield from (name for kind, name in shown() if kind == "command")
    for top in ("evolve", "service", "training"):
        for path in (ROOT / top).rglob("*.py"):
            yield ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_every_word_of_a_name_is_in_the_glossary() -> None:
    assert unknown_words(shown(), page()) == []


def test_every_word_of_the_glossary_is_used() -> None:
    assert unused_words(shown(), page()) == []


def test_every_place_that_the_glossary_names_exists() -> None:
    there = set(places())
    named = [(row[0], place) for row in rows(page()) for place in re.findall(r"`([^`]+)`", row[2])]
    assert [(term, place) for term, place in named if place not in there] == []


def test_terms_are_told_once_with_a_sentence_and_a_place() -> None:
    terms = [row[0].lower() for row in rows(page())]
    assert len(terms) >= 80
    assert sorted(set(terms)) == sorted(terms)
    assert [row for row in rows(page()) if len(row) != 4 or not row[1].endswith(".") or "`" not in row[2]] == []


def test_ordinary_words_are_sorted_and_told_once() -> None:
    words = ordinary_words(page())
    assert words == sorted(set(words))


def test_an_invented_name_is_found_with_what_holds_it() -> None:
    [sentence] = unknown_words([("field", "Candidate.frobnicated_at"), ("field", "Candidate.fitness")], page())
    assert sentence == f'"frobnicated" in field Candidate.frobnicated_at: {CURE}'


def test_terms_and_ordinary_words_that_nothing_uses_are_found() -> None:
    text = (
        "| cell | A part. | `x` | – |\n| niche | A part. | `x` | – |\n\n## Ordinary words\n\n```\ncells at under\n```\n"
    )
    assert unused_words([("schema", "GridCells"), ("field", "Cell.looked_at")], text) == [
        "the term niche", "the ordinary word under", "the ordinary word cells, which a term has",
    ]  # fmt: skip


def test_plurals_and_regular_verb_forms_are_known_by_their_word() -> None:
    assert {"retries", "retried", "retrying"} <= forms_of("retry")
    assert {"pinned", "pinning", "pins"} <= forms_of("pin")
    assert {"deletes", "deleted", "deleting"} <= forms_of("delete")
    assert "batches" in forms_of("batch")
    assert "began" not in forms_of("begin")


def test_names_are_split_into_words() -> None:
    assert words_of("Idempotency-Key") == ["idempotency", "key"]
    assert words_of("APIKeyRow.tokens_cached") == ["api", "key", "row", "tokens", "cached"]
    assert words_of("/v1/runs/{run_id}/p50") == ["v1", "runs", "run", "id", "p50"]


def test_metrics_are_collected_with_their_labels() -> None:
    source = (
        'from prometheus_client import Gauge\nX = Gauge("evolve_slots", "Slots", ["pool"])\nY = Gauge("other", "")\n'
    )
    assert list(metric_names(source)) == [("metric", "evolve_slots"), ("label", "evolve_slots pool")]

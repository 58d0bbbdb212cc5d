"""Runs of hostile texts: markup, control characters, text that turns around, a line of almost a megabyte."""

import itertools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.installation import EVALUATOR, PROBLEM, Installation, Service
from tests.fakes.openai_server import chain, openai_server

NAME = "hostile"
SCRIPT = "<script>document.title = 'taken over'</script><img src=x onerror=\"document.title = 'taken over'\">"
# Right-to-left override, a zero-width space, an escape of terminals, a bell.
UNSEEN = "\u202eturned\u202c \u200b\x1b[31m\x07"
SHOWN = ["U+202E", "U+202C", "U+200B", "U+001B", "U+0007"]
LONG = 990_000
ANSWERS = 3


def candidate(value: float, long: int = 0) -> str:
    """A candidate whose comments, and a line of it, are hostile."""
    lines = [
        "def give():",
        f"    # {SCRIPT}",
        f"    # {UNSEEN}",
        f"    text = '{'x' * long}'",
        f"    return {value}",
        "",
    ]
    return "\n".join(lines)


def mutated(service: Service) -> str:
    """The id of a run that has ended, of candidates with a very long line, by the policy without a model."""
    files = _files(candidate(1.5, LONG))
    service.client.post("/v1/problems", json={"files": files}).raise_for_status()
    run = service.end(service.submit(NAME, evaluations=5))
    return str(run["id"])


def answered(installation: Installation, folder: Path) -> str:
    """The id of a run that has ended, by a model whose completions are hostile around the answers too."""
    for name, text in _files(candidate(1.5)).items():
        (folder / name).write_text(text, encoding="utf-8")
    values = itertools.count(2)

    def respond(body: Mapping[str, Any]) -> Sequence[str]:
        return [_completion(values) for _ in range(body.get("n", 1))]

    with openai_server(respond) as server:
        words = ("--policy", server.url, "--answers", str(ANSWERS), "--evaluations", "6", "--islands", "1", "--json")
        said = installation.evolve.lines("run", str(folder), "--local", *words)  # its policy lies at a private address
    return str(said[-1]["run_id"])


def assert_harmless(page: Page) -> None:
    """Nothing of the texts became a part of the page, and what cannot be seen is seen."""
    expect(page).to_have_title(re.compile("Evolve$"))
    assert page.locator("main script, main img").count() == 0
    assert not any(character in page.content() for character in UNSEEN if not character.isascii())
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def _completion(values: "itertools.count[int]") -> str:
    answers = [candidate(next(values)) for _ in range(ANSWERS - 1)]
    return f"{SCRIPT}{UNSEEN}\n" + chain(*answers, f"no program {SCRIPT}") + f"\n<answer_9>{SCRIPT}"


def _files(seed: str) -> dict[str, str]:
    return {
        "problem.toml": PROBLEM.format(name=NAME),
        "program.py": seed,
        "evaluator.py": EVALUATOR.format(seconds=0.0),
    }

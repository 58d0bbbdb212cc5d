"""What axe-core, run in a page, finds that shuts people out."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

SOURCE = (Path(__file__).parent / "vendor" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
SEVERE = frozenset({"serious", "critical"})
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RUN = """([within, tags]) =>
    axe.run(within ?? document, {resultTypes: ["violations"], runOnly: {type: "tag", values: tags}})"""


def assert_accessible(page: Page, *, within: str | None = None) -> None:
    """Fail with a list of all that is serious or critical under WCAG 2.2 AA and good practice.

    Args:
        page: as it stands, menus and dialogs open or closed; its scripts have to be on, as axe-core is one.
        within: a CSS selector; None: the whole page.
    """
    found = violations(page, within)
    assert not found, f"{len(found)} on {page.url} shut people out:\n" + "\n".join(found)


def violations(page: Page, within: str | None = None) -> list[str]:
    """A line for each element that breaks a rule: the rule, the element's selector, what would mend it."""
    # With scripts off its promise would never be kept, and the test would wait without end.
    assert page.evaluate("() => matchMedia('(scripting: enabled)').matches"), "axe-core needs a page with scripts on"
    # Through the protocol of the developer tools: a strict policy for content lets no page load the file itself.
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(SOURCE)
    said = page.evaluate(RUN, [within, TAGS])
    return [_line(rule, node) for rule in said["violations"] if rule["impact"] in SEVERE for node in rule["nodes"]]


def _line(rule: dict[str, Any], node: dict[str, Any]) -> str:
    selector = " ".join(str(part) for part in node["target"])
    summary = " ".join(node["failureSummary"].split())
    return f"* {rule['id']} ({rule['impact']}) at {selector}: {summary}"

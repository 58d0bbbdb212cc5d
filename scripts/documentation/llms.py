"""The documentation for language models: the Markdown of each page beside its HTML, and their index `llms.txt`."""

import re
from collections.abc import Mapping
from pathlib import Path

LLMS = "llms.txt"
_SUMMARY = (
    "Evolve searches for better programs. You give seed programs and an evaluator that scores them. Policies (language"
    " models or built-in mutators) write variants, a sandbox runs them, and a database keeps every lineage."
)
_SECTION = re.compile(r"^\*\*(.+)\*\*$")
_ITEM = re.compile(r"^[*-] \[(?P<title>.+?)\]\((?P<path>[^)\s]+\.md)\)(?P<rest>.*)$")


def write_page(site: Path, path: str, text: str) -> None:
    """Write the Markdown of a page to its place in the site."""
    place = site / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")


def llms_index(index: str, generated: Mapping[str, str]) -> str:
    """The text of `llms.txt`, in the form of llmstxt.org: a title, a summary, then lists of links by section.

    Args:
        index: the text of `docs/README.md`.
        generated: further pages of the section Reference, by title.
    """
    lines = ["# Evolve", "", f"> {_SUMMARY}", ""]
    lines.append("Each page is here as Markdown. Its HTML form has the ending `.html`.")
    for line in index.splitlines():
        section, item = _SECTION.match(line), _ITEM.match(line)
        if section:
            lines += ["", f"## {section[1]}", ""]
            lines += [_entry(title, path, "") for title, path in generated.items() if section[1] == "Reference"]
        elif item:
            lines.append(_entry(item["title"], item["path"], item["rest"]))
    return "\n".join(lines) + "\n"


def _entry(title: str, path: str, rest: str) -> str:
    place = f"project/{path.removeprefix('../')}" if path.startswith("../") else path
    words = re.sub(r"\[(.+?)\]\([^)]*\)", r"\1", rest).strip(" ,:")
    return f"- [{title}]({place})" + (f": {words}" if words else "")

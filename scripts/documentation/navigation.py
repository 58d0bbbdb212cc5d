"""The navigation of the site, read from the index of the documentation."""

import re
from collections.abc import Iterator, Sequence

Entry = str | dict[str, "str | list[Entry]"]  # a page alone has its own title

_SECTION = re.compile(r"^(?:\*\*(.+?)\*\*|## (.+))$")
_ITEM = re.compile(r"^(?:[*-]|\d+\.) \[(.+?)\]\(([^)#\s]+\.md)\)")
_LINK = re.compile(r"\[.+?\]\(([^)#\s]+\.md)\)")


def navigation(index: str, below: dict[str, Sequence[Entry]]) -> list[Entry]:
    """The entries of the navigation.

    Args:
        index: the text of `docs/README.md`: its introduction, then sections with lists of pages.
        below: further entries, by the title of the section that they end.
    """
    entries: list[Entry] = [{"Home": "README.md"}]
    section: list[Entry] | None = None
    for line in index.splitlines():
        title, item = _SECTION.match(line), _ITEM.match(line)
        if title:
            name = title[1] or title[2]
            section = []
            entries.append({name: section})
        elif section is None:
            entries += [path for path in _LINK.findall(line) if not path.startswith("../")]
        elif item and not item[2].startswith("../"):
            section.append({plain_title(item[1]): item[2]})
    for name, pages in sections(entries):
        pages += below.get(name, ())
    return entries


def sections(entries: Sequence[Entry]) -> Iterator[tuple[str, list[Entry]]]:
    """The sections of a navigation with their pages."""
    for entry in entries:
        for name, pages in entry.items() if isinstance(entry, dict) else ():
            if isinstance(pages, list):
                yield name, pages


def numbered_pages(index: str, folder: str) -> list[Entry]:
    """The entries of a numbered list of pages in a folder, the index first."""
    pages: list[Entry] = [{"Index": f"{folder}/README.md"}]
    for line in index.splitlines():
        item = _ITEM.match(line)
        if item:
            number = line.partition(".")[0]
            pages.append({f"{number}. {plain_title(item[1])}": f"{folder}/{item[2]}"})
    return pages


def plain_title(title: str) -> str:
    """A title without the marks of Markdown, which a navigation would show."""
    return title.replace("`", "").replace("*", "")

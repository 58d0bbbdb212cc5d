"""Fit pages to the site: where links point to, how lists are indented, and that nothing is loaded from elsewhere."""

import posixpath
import re
from collections.abc import Callable, Iterator

DOCS = "docs/"
PROJECT = "project/"

_FENCE = re.compile(r"^( *)(```+|~~~+).*?^\1\2 *$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(\[[^\]]*\]\()([^)\s]+)(\))")
_ITEM = re.compile(r"(?:[*+-]|\d+\.) +")
_LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video)\b[^>]*?\ssrc=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|<link\b[^>]*?\shref=["']?((?:https?:)?//[^"'\s>]+)"""
)
_INDENT = 4  # of what belongs to a list item, in the Markdown of the site


def site_path(repository_path: str) -> str:
    """The place in the site of a file of the repository: `docs/` is its root, and others are under `project/`."""
    if repository_path.startswith(DOCS):
        return repository_path.removeprefix(DOCS)
    return PROJECT + repository_path + ("" if repository_path.endswith(".md") else ".md")


def repository_path(site_path: str) -> str:
    """The file of the repository that a Markdown page of the site shows."""
    return site_path.removeprefix(PROJECT) if site_path.startswith(PROJECT) else DOCS + site_path


def targets(text: str, page: str) -> Iterator[str]:
    """The files of the repository that a page links to; `page` is its own path in the repository."""
    for part in _outside_fences(text):
        for _, link, _ in _LINK.findall(part):
            target = _target(link, page)
            if target:
                yield target


def with_site_links(text: str, page: str) -> str:
    """The text of a page with links that hold in the site; `page` is its path in the repository."""
    here = posixpath.dirname(site_path(page))

    def moved(found: re.Match[str]) -> str:
        target = _target(found[2], page)
        if not target:
            return found[0]
        _, mark, anchor = found[2].partition("#")
        is_asset = target.startswith(DOCS) or target.endswith(".md")
        place = posixpath.relpath(site_path(target), here or ".")
        return f"{found[1]}{place}{mark + anchor if is_asset else ''}{found[3]}"

    return _map_outside_fences(text, lambda part: _LINK.sub(moved, part))


def with_site_lists(text: str) -> str:
    """The text of a page in which what belongs to a list item is indented by four columns."""
    lines: list[str] = []
    width = 0
    for line in text.split("\n"):
        item = _ITEM.match(line)
        if item:
            width = len(item[0])
        elif line.strip() and not line.startswith(" ") and not (lines and lines[-1].strip()):
            width = 0
        inside = width and line.startswith(" " * width)
        lines.append(" " * (_INDENT - width) + line if inside else line)
    return "\n".join(lines)


def with_site_details(text: str) -> str:
    """The text of a page in which the Markdown within `<details>` is read as Markdown."""
    return _map_outside_fences(text, lambda part: part.replace("<details>", '<details markdown="1">'))


def loaded_from_elsewhere(page: str) -> list[str]:
    """The addresses of other hosts from which a page in HTML loads scripts, styles or pictures."""
    return [address for found in _LOADED.findall(page) for address in found if address]


def _target(link: str, page: str) -> str:
    """The file of the repository that a link names; empty: another site, or the page itself."""
    place = link.partition("#")[0]
    if not place or "://" in place or place.startswith("mailto:"):
        return ""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), place))


def _outside_fences(text: str) -> Iterator[str]:
    yield from _FENCE.sub("\0", text).split("\0")


def _map_outside_fences(text: str, change: Callable[[str], str]) -> str:
    made, end = "", 0
    for fence in _FENCE.finditer(text):
        made += change(text[end : fence.start()]) + fence[0]
        end = fence.end()
    return made + change(text[end:])

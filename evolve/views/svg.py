"""SVGs that may be shown: well-formed, of a bounded size when drawn, without scripts and without addresses of others.

Pages show an SVG as an image, in which browsers run and load nothing. What is refused here keeps a view harmless as a
file of its own too, and keeps it from being drawn for minutes.
"""

import re
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree as Xml

from evolve.views.view_error import ViewError

MAX_ELEMENTS = 20_000
MAX_DRAWN = 60_000
_NAMESPACE = "http://www.w3.org/2000/svg"
_REFUSED = {"script", "foreignobject", "iframe", "object", "embed", "audio", "video", "handler", "listener", "link"}
_PROLOGUE = (("<?xml", "?>"), ("<!--", "-->"))
_DOCTYPE = re.compile(r"<!DOCTYPE\s+svg[^\[>]*>", re.IGNORECASE)
_OWN = re.compile(r"\s*(#|data:image/(png|jpeg|gif|webp);base64,)")
_NAMED = re.compile(r"url\(\s*[\"']?\s*([^\"')]*)", re.IGNORECASE)


def looks_like(text: str) -> bool:
    """Whether a text begins as an SVG does, after its declarations and comments."""
    lowered, at = text[:4000].lower(), 0
    while True:
        at += len(lowered[at:]) - len(lowered[at:].lstrip())
        ending = next((end for start, end in _PROLOGUE if lowered.startswith(start, at)), None)
        if ending is None:
            return re.match(r"<(svg[\s>/]|!doctype\s+svg\b)", lowered[at:]) is not None
        behind = lowered.find(ending, at)
        if behind < 0:
            return False
        at = behind + len(ending)


def checked(text: str) -> str:
    """The SVG, with its namespace and without its document type.

    Raises:
        ViewError: it is not well-formed, holds what a picture does not need, or would take too long to draw.
    """
    text = re.sub(r"^\s*<\?xml[^>]*\?>", "", _DOCTYPE.sub("", text, count=1), count=1).strip()
    if "<!doctype" in text.lower() or "<!entity" in text.lower():
        raise ViewError("The view's SVG declares entities, which are not expanded.")
    if not re.search(r"<svg[^>]*\sxmlns\s*=", text):
        text = text.replace("<svg", f'<svg xmlns="{_NAMESPACE}"', 1)
    try:
        root = Xml.fromstring(text)  # noqa: S314 - entities were refused above, and nothing else is loaded or expanded
    except (Xml.ParseError, ValueError, RecursionError) as error:
        raise ViewError(f"The view's SVG is not well-formed: {error}.") from None
    if root.tag != f"{{{_NAMESPACE}}}svg":
        raise ViewError("The view's SVG has another root than <svg>.")
    elements = list(root.iter())
    if len(elements) > MAX_ELEMENTS:
        raise ViewError(f"The view's SVG has {len(elements):,} elements: up to {MAX_ELEMENTS:,} are drawn.")
    for element in elements:
        _refuse(element)
    if _drawn(elements) > MAX_DRAWN:
        raise ViewError(f"The view's SVG refers to its own parts so often that over {MAX_DRAWN:,} would be drawn.")
    return text


def _refuse(element: Xml.Element) -> None:
    name = str(element.tag).rpartition("}")[2].lower()
    if name in _REFUSED:
        raise ViewError(f"The view's SVG holds <{name}>: a view is a picture, which runs and embeds nothing.")
    if name == "style":
        _refuse_addresses(element.text or "")
    for key, value in element.attrib.items():
        attribute = key.rpartition("}")[2].lower()
        if attribute.startswith("on"):
            raise ViewError(f"The view's SVG has {attribute[:30]}=: a view runs no script.")
        if attribute in ("href", "src") and name != "a" and not _OWN.match(value):
            raise ViewError(f"The view's SVG refers to {value[:60]!r}: a view loads nothing.")
        if attribute == "href" and name == "a" and not _OWN.match(value):
            raise ViewError(f"The view's SVG has a link to {value[:60]!r}: a view leads nowhere.")
        _refuse_addresses(value)


def _refuse_addresses(text: str) -> None:
    if "@import" in text.lower():
        raise ViewError("The view's SVG imports a style sheet: a view loads nothing.")
    for address in _NAMED.findall(text):
        if not _OWN.match(address):
            raise ViewError(f"The view's SVG refers to {address[:60]!r}: a view loads nothing.")


def _drawn(elements: Sequence[Xml.Element]) -> int:
    """How many elements are drawn where every reference is followed; capped."""
    named = {name: element for element in reversed(elements) if (name := element.get("id"))}
    sizes: dict[str, int] = {}
    return _size(elements[0], named, sizes, ())


def _size(element: Xml.Element, named: Mapping[str, Xml.Element], sizes: dict[str, int], open_: tuple[str, ...]) -> int:
    total = 0
    for part in element.iter():
        total += 1
        for target in _targets(part):
            if target in open_ or target not in named:
                continue  # browsers follow no circle
            if target not in sizes:
                if len(open_) > 50:
                    return MAX_DRAWN + 1
                sizes[target] = _size(named[target], named, sizes, (*open_, target))
            total += sizes[target]
        if total > MAX_DRAWN:
            return MAX_DRAWN + 1
    return total


def _targets(element: Xml.Element) -> list[str]:
    found = []
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == "href" and value.startswith("#"):
            found.append(value[1:])
        found += [address[1:] for address in _NAMED.findall(value) if address.startswith("#")]
    return found

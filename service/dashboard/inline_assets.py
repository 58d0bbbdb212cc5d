"""Assets inside of one file: style sheets and modules joined, and the policy that lets nothing but them run."""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from markupsafe import Markup

from service.dashboard import assets

_IMPORT = re.compile(r'^import\s*\{([^}]*)\}\s*from\s*"\./([\w.-]+)";?[ \t]*$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const|let) ([\w$]+))", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b", re.MULTILINE)
_ENDS = re.compile(r"</(?:script|style)|<!--", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A module in its scope, and the names that others can import from it."""

    text: str
    exported: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineAssets:
    """Texts that stand in a file, and the policy under which they alone are of effect."""

    styles: Markup
    scripts: Sequence[Markup]
    policy: str


def inlined(styles: Sequence[str], scripts: Sequence[str], modules: Sequence[str]) -> InlineAssets:
    """Assets as elements of one file.

    Args:
        styles: names of style sheets.
        scripts: names of scripts that are no modules, in the order in which they run.
        modules: names of modules that run after them; what these import comes along.

    Raises:
        ValueError: a text would end its element, or a module does what cannot be joined.
    """
    style = _whole("\n".join(_text(name) for name in styles))
    texts = [_whole(text) for text in (*map(_text, scripts), joined(modules))]
    policy = (
        "default-src 'none'",
        "script-src " + " ".join(map(_hash, texts)),
        f"style-src {_hash(style)}",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    elements = [Markup("<script>") + Markup(text) + Markup("</script>") for text in texts]  # noqa: S704 - our own assets
    return InlineAssets(
        styles=Markup("<style>") + Markup(style) + Markup("</style>"),  # noqa: S704 - our own assets
        scripts=elements,
        policy="; ".join(policy),
    )


def joined(modules: Sequence[str]) -> str:
    """Modules with all that they import as one script, each in a scope of its own.

    Raises:
        ValueError: one imports or exports in another way than modules here do.
    """
    parts: dict[str, _Part] = {}
    for name in modules:
        _join(name, parts, ())
    return '"use strict";\n(() => {\n' + "\n".join(part.text for part in parts.values()) + "\n})();"


def embedded(value: Any) -> Markup:
    """A value as JSON that no element of a page ends in."""
    return Markup(json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"))  # noqa: S704 - escaped


@cache
def picture(name: str) -> str:
    """A picture as an address that holds it."""
    content = base64.b64encode(assets.files()[name].read_bytes()).decode()
    return f"data:image/svg+xml;base64,{content}"


def _join(name: str, parts: dict[str, _Part], above: tuple[str, ...]) -> None:
    if name in parts:
        return
    if name in above:
        raise ValueError(f"{name} imports itself by way of {above[-1]}")
    text = _text(name)
    for found in _IMPORT.finditer(text):
        _join(found.group(2), parts, (*above, name))
        taken = {part.split()[0] for part in found.group(1).split(",") if part.strip()}
        if missing := taken.difference(parts[found.group(2)].exported):
            raise ValueError(f"{name} imports {', '.join(sorted(missing))}, which {found.group(2)} does not export")
    exported = _EXPORT.findall(text)
    body = _EXPORT.sub("", _IMPORT.sub(_taken, text))
    if left := _LEFT.search(body):
        raise ValueError(f"{name} cannot be joined: {body[left.start() :].splitlines()[0]}")
    scoped = f"const {_scope(name)} = (() => {{\n{body}\nreturn {{ {', '.join(exported)} }};\n}})();"
    parts[name] = _Part(text=scoped, exported=exported)


def _taken(found: re.Match[str]) -> str:
    names = re.sub(r"\s+as\s+", ": ", " ".join(found.group(1).split()))
    return f"const {{ {names} }} = {_scope(found.group(2))};"


def _scope(name: str) -> str:
    return "module_" + re.sub(r"\W", "_", name.removesuffix(".js"))


def _text(name: str) -> str:
    return assets.files()[name].read_text(encoding="utf-8")


def _whole(text: str) -> str:
    if found := _ENDS.search(text):
        raise ValueError(f"{found.group()!r} in an asset would end the element that it stands in")
    return text


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

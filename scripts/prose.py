"""Measure the English of the documentation, the help of the command line and the texts of the dashboard.

    python -m scripts.prose            # print a table; fail if a page is worse than its ceiling in pyproject.toml
    python -m scripts.prose --write    # lower the ceilings to today's figures; without a table of them, make it

Left out are code, headings, link targets and table cells of fewer than ten words. A code span counts as one word.
"""

import argparse
import dataclasses
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PROJECT = ROOT / "pyproject.toml"
TEMPLATES = ROOT / "service" / "dashboard" / "templates"
LONG_SENTENCE_WORDS = 30
MIN_SENTENCE_WORDS = 4  # fewer are a label
MIN_CELL_WORDS = 10
MIN_MEAN_SENTENCES = 5  # the mean of fewer says little
CODE = "Code"

_WORD = re.compile(r"[^\W_]+(?:['’.\-/][^\W_]+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?])[)\"”’]*\s+(?=[(\"“‘]?[A-Z\d])")
_LIST_ITEM = re.compile(r"\s*(?:[*+-]|\d+\.)\s+")
_FENCE = re.compile(r"^ *(```|~~~).*?^ *\1 *$", re.DOTALL | re.MULTILINE)
_YOU = re.compile(r"\byou(?:r|rs|rself|rselves)?\b", re.IGNORECASE)
_WHAT = re.compile(r"\b(?:what(?:ever)?|whoever)\b", re.IGNORECASE)
_ONES = re.compile(r"\bones?\b", re.IGNORECASE)
_INLINE_TAGS = frozenset(
    (
        "a",
        "abbr",
        "b",
        "code",
        "em",
        "i",
        "kbd",
        "mark",
        "q",
        "s",
        "samp",
        "small",
        "span",
        "strong",
        "sub",
        "sup",
        "time",
    )
)
_SKIPPED_TAGS = frozenset(("script", "style", "title", "svg", "h1", "h2", "h3", "h4", "h5", "h6", "pre"))
_CODE_TAGS = frozenset(("code", "kbd", "samp"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Counts over a text; every one of them can be added up over pages."""

    words: int = 0
    sentences: int = 0
    sentence_words: int = 0
    long: int = 0
    you: int = 0
    what: int = 0
    ones: int = 0
    semicolons: int = 0

    def __add__(self, other: "Figures") -> "Figures":
        """Add up two texts."""
        mine, theirs = dataclasses.asdict(self), dataclasses.asdict(other)
        return Figures(**{name: mine[name] + theirs[name] for name in mine})

    @property
    def mean_words(self) -> float:
        """Words a sentence."""
        return self.sentence_words / self.sentences if self.sentences else 0.0

    @property
    def long_percent(self) -> float:
        """Percentage of sentences of more than 30 words."""
        return 100 * self.long / self.sentences if self.sentences else 0.0

    def rate(self, name: str) -> float:
        """Occurrences per 1,000 words."""
        return 1000 * int(getattr(self, name)) / self.words if self.words else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """The figures that a page should reach."""

    mean_words: float
    long_percent: float
    you: float
    what: float
    ones: float
    semicolons: float


def measure(blocks: Iterator[str]) -> Figures:
    """Count over blocks of text: paragraphs, list items, cells."""
    return sum((_measure_block(block) for block in blocks), Figures())


def _measure_block(block: str) -> Figures:
    sentences = _SENTENCE_END.split(block)
    lengths = [count for count in (len(_WORD.findall(one)) for one in sentences) if count >= MIN_SENTENCE_WORDS]
    return Figures(
        words=len(_WORD.findall(block)),
        sentences=len(lengths),
        sentence_words=sum(lengths),
        long=sum(count > LONG_SENTENCE_WORDS for count in lengths),
        you=len(_YOU.findall(block)),
        what=sum(len(_WHAT.findall(one)) for one in sentences if not one.rstrip().endswith("?")),
        ones=len(_ONES.findall(block)),
        semicolons=block.count(";"),
    )


def markdown_blocks(text: str) -> Iterator[str]:
    """Every block of prose of a Markdown page."""
    text = _FENCE.sub("\n", re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL))
    block: list[str] = []
    in_list = in_code = after_blank = False
    for line in text.splitlines():
        item, indented = _LIST_ITEM.match(line), line.startswith("    ")
        in_code = indented and not in_list and (in_code or not block) if line.strip() else in_code
        in_list = bool(item and not in_code) or (in_list and (not after_blank or line.startswith(" ")))
        after_blank = not line.strip()
        if in_code:
            continue
        if block and (after_blank or item or line.lstrip().startswith(("|", "#"))):
            yield plain(" ".join(block))
            block = []
        if line.lstrip().startswith("|"):
            yield from _cells(line)
        elif not after_blank and not line.startswith("#"):
            block.append(line[item.end() :] if item else line.strip())
    if block:
        yield plain(" ".join(block))


def _cells(row: str) -> Iterator[str]:
    for cell in re.split(r"(?<!\\)\|", row.strip().strip("|")):
        text = plain(cell.strip())
        if len(_WORD.findall(text)) >= MIN_CELL_WORDS:
            yield text


def plain(markdown: str) -> str:
    """A block without its marks: links as their words, code as one word."""
    text = re.sub(r"(`+).+?\1", CODE, markdown)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", text)
    return re.sub(r"\*+|</?\w[^>]*>", "", text)


class _TemplateText(HTMLParser):
    """Gathers the blocks of text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[str] = []
        self._text = ""
        self._skipped = self._code = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the signature is HTMLParser's
        self._skipped += tag in _SKIPPED_TAGS
        self._text += f" {CODE} " if tag in _CODE_TAGS and not self._code else ""
        self._code += tag in _CODE_TAGS
        if tag not in _INLINE_TAGS:
            self._end_block()

    def handle_endtag(self, tag: str) -> None:
        self._skipped -= tag in _SKIPPED_TAGS and self._skipped > 0
        self._code -= tag in _CODE_TAGS and self._code > 0
        if tag not in _INLINE_TAGS:
            self._end_block()

    def handle_data(self, data: str) -> None:
        if not self._skipped and not self._code:
            self._text += data

    def close(self) -> None:
        super().close()
        self._end_block()

    def _end_block(self) -> None:
        self.blocks.append(" ".join(self._text.split()))
        self._text = ""


def template_blocks(text: str) -> Iterator[str]:
    """Every block of text of a Jinja template, with a word for each value that is filled in."""
    text = re.sub(r"\{#.*?#\}|\{%.*?%\}", "", text, flags=re.DOTALL)
    parser = _TemplateText()
    parser.feed(re.sub(r"\{\{.*?\}\}", CODE, text, flags=re.DOTALL))
    parser.close()
    yield from filter(None, parser.blocks)


def command_blocks(command: Any) -> Iterator[str]:
    """Every text of the help of a command and of those below it."""
    for text in (command.help, *(getattr(parameter, "help", "") for parameter in command.params)):
        yield from (plain(" ".join(part.split())) for part in (text or "").split("\n\n"))
    for child in getattr(command, "commands", {}).values():
        yield from command_blocks(child)


def pages() -> dict[str, Figures]:
    """The figures of every page, by its path or its command."""
    import typer

    from service.cli.app import app

    folders = (ROOT / "docs", ROOT / "examples", ROOT / "skills", ROOT / "tests")
    markdown = [
        *ROOT.glob("*.md"),
        *(path for folder in folders for path in folder.rglob("*.md") if "node_modules" not in path.parts),
    ]
    found = {
        str(path.relative_to(ROOT)): measure(markdown_blocks(path.read_text(encoding="utf-8")))
        for path in sorted(markdown)
        if path.name not in _HISTORIES
    }
    root: Any = typer.main.get_command(app)
    found |= {f"evolve {name}": measure(command_blocks(command)) for name, command in sorted(root.commands.items())}
    found |= {
        str(path.relative_to(ROOT)): measure(template_blocks(path.read_text(encoding="utf-8")))
        for path in sorted(TEMPLATES.rglob("*.html"))
    }
    return {name: figures for name, figures in found.items() if figures.words}


_HISTORIES = frozenset(("CHANGELOG.md",))  # nobody rewrites them
_CEILINGS_TABLE = re.compile(r'^\[tool\.prose\.ceilings\]\n(?:".*\n)*', re.MULTILINE)
_CEILINGS = ("long", "what", "ones", "semicolons")


def is_how_to(name: str) -> bool:
    """Whether a page tells its reader what to do."""
    return name.startswith(("docs/how-to/", "docs/tutorial"))


def shortfalls(name: str, figures: Figures, targets: Targets) -> dict[str, float]:
    """The figures of a page that miss their targets. A short page may have one of everything."""
    allowed = {
        "long": max(1.0, targets.long_percent * figures.sentences / 100),
        **{key: max(1.0, getattr(targets, key) * figures.words / 1000) for key in ("what", "ones", "semicolons")},
    }
    missed: dict[str, float] = {key: getattr(figures, key) for key in _CEILINGS if getattr(figures, key) > allowed[key]}
    if figures.sentences >= MIN_MEAN_SENTENCES and figures.mean_words > targets.mean_words:
        missed["mean_words"] = round(figures.mean_words + 0.05, 1)
    if is_how_to(name) and figures.rate("you") < targets.you:
        missed["you"] = figures.you
    return missed


def complaints(
    found: Mapping[str, Figures], targets: Targets, ceilings: Mapping[str, Mapping[str, float]]
) -> Iterator[str]:
    """A line for each figure that misses its target by more than its ceiling allows."""
    for name, figures in found.items():
        for key, value in shortfalls(name, figures, targets).items():
            ceiling = ceilings.get(name, {}).get(key)
            if ceiling is None:
                yield f"{name}: {key} met its target before, and is {value:g}"
            elif key == "you" and value < ceiling:
                yield f"{name}: you is {value:g}, below its floor of {ceiling:g}"
            elif key != "you" and value > ceiling:
                yield f"{name}: {key} is {value:g}, above its ceiling of {ceiling:g}"


def lowered(
    found: Mapping[str, Figures], targets: Targets, ceilings: Mapping[str, Mapping[str, float]] | None
) -> dict[str, dict[str, float]]:
    """The ceilings for today's figures. None gets looser, and those of figures that meet their target go.

    Args:
        found: the figures of every page.
        targets: what a page should reach.
        ceilings: today's, or None before there are any: then every figure that misses its target gets one.
    """
    result: dict[str, dict[str, float]] = {}
    for name, figures in found.items():
        missed = shortfalls(name, figures, targets)
        if ceilings is not None:
            old = ceilings.get(name, {})
            missed = {
                key: max(value, old[key]) if key == "you" else min(value, old[key])
                for key, value in missed.items()
                if key in old
            }
        if missed:
            result[name] = missed
    return result


def settings() -> tuple[Targets, dict[str, dict[str, float]] | None]:
    """The targets and the ceilings of pyproject.toml; None where it has no table of ceilings."""
    prose = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["tool"]["prose"]
    return Targets(**prose["targets"]), prose.get("ceilings")


def write_ceilings(ceilings: Mapping[str, Mapping[str, float]]) -> None:
    """Replace the table of ceilings in pyproject.toml, or append it."""
    rows = (
        f'"{name}" = {{ ' + ", ".join(f"{key} = {value:g}" for key, value in values.items()) + " }\n"
        for name, values in ceilings.items()
    )
    table = "[tool.prose.ceilings]\n" + "".join(rows)
    written, count = _CEILINGS_TABLE.subn(lambda _: table, PROJECT.read_text(encoding="utf-8"))
    PROJECT.write_text(written if count else f"{written}\n{table}", encoding="utf-8")


def report(found: Mapping[str, Figures], targets: Targets) -> Iterator[str]:
    """A row a page, and the totals."""
    groups = {
        "README and docs": [name for name in found if name == "README.md" or name.startswith("docs/")],
        "how-tos and tutorials": [name for name in found if is_how_to(name)],
        "help of commands": [name for name in found if name.startswith("evolve ")],
        "dashboard": [name for name in found if name.startswith("service/")],
    }
    yield f"{'':58} words   w/s   >30    you   what ones    ;"
    yield from (_row(name, figures) for name, figures in found.items())
    yield from (_row(name, sum((found[one] for one in names), Figures())) for name, names in groups.items())
    wanted = f"{targets.mean_words:5.1f} {targets.long_percent:4.0f}% {targets.you:6.1f}"
    yield f"{'target':58}       {wanted} {targets.what:6.1f} {targets.ones:4.1f} {targets.semicolons:4.1f}"


def _row(name: str, figures: Figures) -> str:
    rates = f"{figures.rate('what'):6.1f} {figures.rate('ones'):4.1f} {figures.rate('semicolons'):4.1f}"
    return (
        f"{name:58} {figures.words:5} {figures.mean_words:5.1f} {figures.long_percent:4.0f}%"
        f" {figures.rate('you'):6.1f} {rates}"
    )


def main() -> int:
    """Print the table, then every figure that got worse."""
    parser = argparse.ArgumentParser(description="Measure the English of the product.")
    parser.add_argument("--write", action="store_true", help="Lower the ceilings to today's figures.")
    parser.add_argument("--quiet", action="store_true", help="Print only the figures that got worse.")
    options = parser.parse_args()
    found = pages()
    targets, ceilings = settings()
    if not options.quiet:
        print("\n".join(report(found, targets)))
    if options.write:
        write_ceilings(lowered(found, targets, ceilings))
        targets, ceilings = settings()
    ceilings = ceilings or {}
    worse = [*complaints(found, targets, ceilings)]
    if worse:
        print(*worse, "Rewrite what you added. `make prose` shows every figure.", sep="\n", file=sys.stderr)
    else:
        print(f"prose: {len(found)} texts, none worse than before, {len(ceilings)} still miss a target")
    return bool(worse)


if __name__ == "__main__":
    sys.exit(main())

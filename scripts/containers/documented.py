"""Print the commands of a how-to page, so that a check runs what the page says: PAGE HEADING NUMBER [OLD=NEW ...]."""

import re
import sys
from pathlib import Path

PAGES = Path(__file__).parents[2] / "docs" / "how-to"


def block(page: Path, heading: str, number: int) -> str:
    """The indented block of a section, counted from 1; the first section of a page has the page's title.

    Raises:
        SystemExit: there is none.
    """
    sections = re.split(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    bodies = dict(zip(sections[1::2], sections[2::2], strict=True))
    if heading not in bodies:
        raise SystemExit(f"{page.name} has no section {heading}")
    blocks = re.findall(r"(?:^(?: {4,}.*)?\n)*^ {4,}.*\n(?:^(?: {4,}.*)?\n)*", bodies[heading], re.MULTILINE)
    if number > len(blocks):
        raise SystemExit(f"{page.name}, {heading}: there are {len(blocks)} blocks of commands")
    lines = blocks[number - 1].strip("\n").splitlines()
    margin = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return "\n".join(line[margin:] for line in lines) + "\n"


def main(page: str, heading: str, number: str, *replacements: str) -> None:
    """Print a block, with the placeholders of the page replaced."""
    text = block(PAGES / page, heading, int(number))
    for replacement in replacements:
        old, _, new = replacement.partition("=")
        if old not in text:
            raise SystemExit(f"{page}, {heading}: {old} is not among the commands")
        text = text.replace(old, new)
    sys.stdout.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""What the fuzzer holds true of any bytes: chains of answers and edits of programs end in an answer or a sentence."""

import random
from collections.abc import Callable, Mapping

from evolve.answers.chain import ChainParser, parse_format
from evolve.answers.edit import apply_answer
from evolve.answers.regions import guarded, regions
from evolve.errors import AnswerError
from evolve.program import Program

FORMATS = tuple(map(parse_format, ("tags:answer", "tags:a", "fences", "single")))
MAX_ANSWER = 200
PLAIN = "import math\n\n\ndef value(x):\n    step = 0.5\n    return math.sin(x) * step\n"
BOUNDED = f"# head\n# EVOLVE-BLOCK-START\n{PLAIN}# EVOLVE-BLOCK-END\nprint(value(1))\n"
PARENTS = (
    Program.of({"program.py": PLAIN}),
    Program.of({"program.py": BOUNDED}),
    Program.of({"program.py": BOUNDED.replace("\n", "\r\n")}),
    Program.of({"main.py": PLAIN, "lib/helper.py": "X = 1\n", "notes.txt": "Some words.\n"}),
    Program.of({"prompt.txt": "Say it in verse.\nBe brief.\n"}),
)
LANGUAGES = ("python", "python", "python", "python", "text")
TOKENS = (
    "<answer_1>", "</answer_1>", "<answer_2>", "</answer>", "<a>", "</a_3>", "<think>", "</think>", "```", "````",
    "~~~", "```python\n", "\n---\n", "FILE: lib/helper.py\n", "FILE: ../up.py\n", "FILE: \n", "<<<<<<< SEARCH\n",
    "\n=======\n", "\n>>>>>>> REPLACE\n", "    step = 0.5\n", "    step = 0.1\n", "def value(x):\n", "    return x\n",
    "# EVOLVE-BLOCK-START\n", "# EVOLVE-BLOCK-END\n", "\n", "\r\n", "\r", "\t", " ", "\0", "\ufeff", "\u2028", "\u202e",
    "İ", "ſ", "\ud800", "(" * 60, "[" * 300, "-" * 80, "'''", '"""', "\\", "lambda: " * 50, "1" * 5000, "f'{",
    "X = 2\n", PLAIN, BOUNDED,
)  # fmt: skip


def chain(data: bytes) -> None:
    """However a completion is cut up, the answers are the same, numbered, within the limit, never blank."""
    head, text = data[:4].ljust(4, b"\0"), _text(data[4:])
    kind, limit, cut, size = FORMATS[head[0] % len(FORMATS)], 1 + head[1] % 6, bool(head[2] & 1), 1 + head[3] % 40

    def parsed(pieces: list[str]) -> tuple[list[tuple[int, str]], list[str]]:
        parser = ChainParser(kind, limit, longest=MAX_ANSWER)
        found = [one for piece in pieces for one in parser.feed(piece)] + parser.close(cut)
        return [(one.index, one.text) for one in found], parser.dropped

    answers, dropped = parsed([text])
    assert [index for index, _ in answers] == list(range(len(answers)))
    assert len(answers) <= limit
    assert all(answer.strip() and len(answer) <= MAX_ANSWER for _, answer in answers)
    assert parsed([text[place : place + size] for place in range(0, len(text), size)]) == (answers, dropped)


def edits(data: bytes) -> None:
    """An answer makes a child that differs from its parent inside its regions alone, or a complaint of its kind."""
    head, text = data[:2].ljust(2, b"\0"), _text(data[2:])
    place = head[0] % len(PARENTS)
    parent = PARENTS[place]
    try:
        child = apply_answer(parent, text, ("rewrite", "diff")[head[1] & 1], LANGUAGES[place]).program
    except AnswerError:
        return
    assert child.id != parent.id
    if guarded(parent):
        assert _outside(child) == _outside(parent)


CASES: Mapping[str, Callable[[bytes], None]] = {"chain": chain, "edits": edits}


def soup(rng: random.Random) -> bytes:
    """Bytes that look a little like what models write."""
    pieces = [rng.randbytes(4)]
    for _ in range(rng.randrange(1, 24)):
        drawn = rng.random()
        if drawn < 0.75:
            pieces.append(rng.choice(TOKENS).encode("utf-8", "surrogatepass"))
        elif drawn < 0.9:
            pieces.append(rng.randbytes(rng.randrange(1, 12)))
        else:
            earlier = rng.choice(pieces)
            pieces.append(earlier[: rng.randrange(len(earlier) + 1)])
    return b"".join(pieces)


def _text(data: bytes) -> str:
    """The bytes as text, with lone surrogates where they hold them, as JSON may bring them."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def _outside(program: Program) -> list[str]:
    """The lines of a program outside its regions, markers included, whatever their ends."""
    (_, text), *_ = program.files
    inside = [range(region.start, region.end) for region in regions(text)]
    lines = text.split("\n")
    return [line.rstrip("\r") for number, line in enumerate(lines) if not any(number in span for span in inside)]

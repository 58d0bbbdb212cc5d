"""What models really write becomes the program they mean, or a reason why it does not."""

import json
from dataclasses import dataclass

import pytest

from evolve.answers.chain import ChainParser, parse_format
from evolve.answers.edit import apply_answer
from evolve.answers.recovery import is_fragment, is_placeholder
from evolve.errors import AnswerError
from evolve.program import Program

HEAD = "import math\n\n"
BODY = "def area(radius):\n    return 3 * radius\n"
TAIL = "\n\ndef run():\n    return area(2)\n"
PLAIN = Program.of({"p.py": HEAD + BODY})
MARKED = Program.of({"p.py": f"{HEAD}# EVOLVE-BLOCK-START\n{BODY}# EVOLVE-BLOCK-END\n{TAIL}"})

BETTER = "def area(radius):\n    return math.pi * radius**2\n"
OTHER = "def area(radius):\n    return 3.14 * radius**2\n"
WHOLE, WHOLE_OTHER = HEAD + BETTER, HEAD + OTHER
EDIT = "<<<<<<< SEARCH\n    return 3 * radius\n=======\n    return math.pi * radius**2\n>>>>>>> REPLACE"


def fenced(text: str, info: str = "python") -> str:
    return f"```{info}\n{text}```"


def tagged(*answers: str, tag: str = "answer") -> str:
    return "\n".join(f"<{tag}_{n}>\n{text}\n</{tag}_{n}>" for n, text in enumerate(answers, start=1))


def children(
    text: str, parent: Program, *, name: str = "tags:answer", edits: str = "rewrite", m: int = 4, cut: bool = False,
    size: int = 7,
) -> tuple[list[str], list[str]]:  # fmt: skip
    """The programs that a completion makes, and why the rest of it makes none."""
    parser = ChainParser(parse_format(name), m)
    parsed = [one for place in range(0, len(text), size) for one in parser.feed(text[place : place + size])]
    parsed += parser.close(cut)
    made, reasons = [], list(parser.dropped)
    for one in parsed:
        try:
            made.append(apply_answer(parent, one.text, edits, "python").program.text)
        except AnswerError as error:
            reasons.append(str(error))
    return made, reasons


@dataclass(frozen=True)
class Case:
    """A completion as a model wrote it, and the programs that must come of it."""

    name: str
    text: str
    programs: tuple[str, ...]
    m: int = 1
    form: str = "tags:answer"
    edits: str = "rewrite"
    cut: bool = False


THOUGHT = (
    "Okay. The reply must look like <answer_1> ... </answer_1>.\nLet me think about the radius of the circle first.\n"
)
CASES = [
    Case("one fence", fenced(WHOLE), (WHOLE,)),
    Case("prose around a fence", f"Here is the improved program:\n\n{fenced(WHOLE)}\n\nIt uses pi now.", (WHOLE,)),
    Case("a fence without a language", fenced(WHOLE, ""), (WHOLE,)),
    Case("tildes", f"~~~python\n{WHOLE}~~~", (WHOLE,)),
    Case("windows line ends", fenced(WHOLE).replace("\n", "\r\n"), (WHOLE,)),
    Case("the parent quoted first", f"The parent was:\n{fenced(PLAIN.text)}\nBetter:\n{fenced(WHOLE)}", (WHOLE,)),
    Case("a command for the shell", f"{fenced(WHOLE)}\nRun it:\n{fenced('python p.py' + chr(10), 'bash')}", (WHOLE,)),
    Case("no closing fence at the end", f"Sure!\n```python\n{WHOLE}", (WHOLE,)),
    Case("a bold heading", f"**Answer 1**\n\n{fenced(WHOLE)}", (WHOLE,)),
    Case("tags of another name", tagged(fenced(WHOLE), tag="program"), (WHOLE,)),
    Case("tags that are escaped", f"&lt;answer_1&gt;\n{fenced(WHOLE)}\n&lt;/answer_1&gt;", (WHOLE,)),
    Case("tags with attributes", f'<answer_1 name="pi">\n{fenced(WHOLE)}\n</answer_1>', (WHOLE,)),
    Case("no last closing tag", f"<answer_1>\n{fenced(WHOLE)}", (WHOLE,)),
    Case("json", json.dumps({"thought": "use pi", "code": WHOLE}), (WHOLE,)),
    Case("json in a fence", fenced(json.dumps({"program": WHOLE}) + "\n", "json"), (WHOLE,)),
    Case("json with several", json.dumps({"answers": [WHOLE, {"code": WHOLE_OTHER}]}), (WHOLE, WHOLE_OTHER), m=4),
    Case("edits for a program", tagged(EDIT), (WHOLE,)),
    Case("edits in a fence", fenced(EDIT + "\n", "diff"), (WHOLE,)),
    Case("edits without tags", f"I change one line.\n\n{EDIT}\n", (WHOLE,)),
    Case("a program for edits", tagged(fenced(WHOLE)), (WHOLE,), edits="diff"),
    Case("a fence for edits", f"Sure:\n{fenced(WHOLE)}", (WHOLE,), edits="diff"),
    Case("alternatives", f"First:\n{fenced(WHOLE)}\nAlternative:\n{fenced(WHOLE_OTHER)}", (WHOLE, WHOLE_OTHER), m=4),
    Case("fences of which the last is open", f"{fenced(WHOLE)}\n```python\n{WHOLE_OTHER}", (WHOLE,), m=4, cut=True),
    Case("a thought that is closed", f"<think>\n{THOUGHT}</think>\n{tagged(fenced(WHOLE))}", (WHOLE,)),
    Case("a thought that was not opened", f"{THOUGHT}</think>\n\n{tagged(fenced(WHOLE))}", (WHOLE,)),
    Case("a thought with drafts", f"Maybe <answer_1> should be larger\n</think>\n{tagged(fenced(WHOLE))}", (WHOLE,)),
    Case("a thought and a fence", f"{THOUGHT}</think>\n{fenced(WHOLE)}", (WHOLE,)),
    Case("a thought before one program", f"{THOUGHT}</think>\n{fenced(WHOLE)}", (WHOLE,), form="single"),
    Case("tags that nobody asked for", tagged(fenced(WHOLE), fenced(WHOLE_OTHER)), (WHOLE,), form="single"),
    Case("magistral", f"[THINK]{THOUGHT}[/THINK]{tagged(fenced(WHOLE))}", (WHOLE,)),
    Case("seed", f"<seed:think>{THOUGHT}</seed:think>{tagged(fenced(WHOLE))}", (WHOLE,)),
    Case("reasoning", f"<reasoning>{THOUGHT}</reasoning>{tagged(fenced(WHOLE))}", (WHOLE,)),
    Case(
        "harmony",
        f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>"
        + tagged(fenced(WHOLE)),
        (WHOLE,),
    ),
    Case("prose that names the tag", f"I will write <answer_1> now.\n{tagged(fenced(WHOLE))}", (WHOLE,)),
    Case("the outline repeated", f"{tagged('...', '...')}\n{tagged(fenced(WHOLE), fenced(WHOLE_OTHER))}",
         (WHOLE, WHOLE_OTHER), m=2),
    Case("a tag inside a program", tagged(fenced(WHOLE + 'MARK = "</think>"\n')), (WHOLE + 'MARK = "</think>"\n',)),
    Case("a nested fence", tagged(f'````python\n"""\n```\n"""\n{WHOLE}````'), (f'"""\n```\n"""\n{WHOLE}',)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("size", [1, 5, 10_000])
def test_what_a_model_writes_becomes_the_program_that_it_means(case: Case, size: int) -> None:
    made, reasons = children(
        case.text, PLAIN, name=case.form, edits=case.edits, m=case.m, cut=case.cut, size=size
    )  # fmt: skip
    assert tuple(made) == case.programs, reasons


FRAMED = MARKED.text.replace(BODY, BETTER)
MARKERLESS = {
    "the region alone": BETTER,
    "the region with a helper": f"def square(x):\n    return x**2\n\n{BETTER}",
    "the frame around it": HEAD + BETTER + TAIL,
    "the frame with other blank lines": HEAD.strip() + "\n" + BETTER + "\n\n\n" + TAIL.strip() + "\n",
    "another import beside it": f"import cmath\nimport math\n\n{BETTER}{TAIL}",
    "a frame that it changed": f"import math\n\n{BETTER}\n\ndef run():\n    return area(1000)\n",
    "the markers in other words": f"{HEAD}#   EVOLVE-BLOCK-START (keep)\n{BETTER}#EVOLVE-BLOCK-END\n{TAIL}",
}


@pytest.mark.parametrize("name", MARKERLESS)
def test_markers_that_were_left_out_are_put_back(name: str) -> None:
    child = apply_answer(MARKED, fenced(MARKERLESS[name]), "rewrite", "python")
    text = child.program.text
    assert text.startswith(f"{HEAD}# EVOLVE-BLOCK-START\n")
    assert text.endswith(f"# EVOLVE-BLOCK-END\n{TAIL}")
    assert BETTER in text
    assert "1000" not in text
    assert child.recovered == (() if "marker" in name else ("markers",))


def test_an_answer_may_leave_out_outer_lines_that_are_far_from_the_region() -> None:
    frame = (
        '"""Two numbers."""\n\n\ndef solve():\n    # EVOLVE-BLOCK-START\n    {}\n    # EVOLVE-BLOCK-END\n    return x\n'
    )
    parent = Program.of({"p.py": frame.format("x = 1")})
    child = apply_answer(parent, fenced("def solve():\n    x = 2\n    return x\n"), "rewrite", "python")
    assert child.program.text == parent.text.replace("x = 1", "x = 2")
    assert child.recovered == ("markers",)
    with pytest.raises(AnswerError, match="not valid Python"):
        apply_answer(parent, fenced("def solve():\n    return 2\n\nprint(1)\n"), "rewrite", "python")


def test_lines_without_a_word_are_no_frame() -> None:
    parent = Program.of({"p.c": "int f()\n{\n// EVOLVE-BLOCK-START\nint a;\n// EVOLVE-BLOCK-END\n}\n"})
    child = apply_answer(parent, "```c\n{ int b;\nint c;\n}\n```", "rewrite", "c")
    assert "// EVOLVE-BLOCK-START\n{ int b;\nint c;\n}\n" in child.program.text


def test_a_program_of_another_language_is_aligned_by_its_outer_lines() -> None:
    parent = Program.of(
        {"p.c": "#include <math.h>\n// EVOLVE-BLOCK-START\nint a;\n// EVOLVE-BLOCK-END\nint main() {}\n"}
    )
    child = apply_answer(parent, "```c\n#include <math.h>\nint b;\n\nint main() {}\n```", "rewrite", "c")
    assert child.program.text == parent.text.replace("int a;\n", "int b;\n\n")
    long = Program.of({"p.c": parent.text.replace("int a;\n", "int a;\n" * 60)})
    with pytest.raises(AnswerError, match="keep the markers"):
        apply_answer(long, "```c\nint b;\n```", "rewrite", "c")


REFUSED = {
    "a part of a program": (fenced("    return math.pi * radius**2\n"), "rewrite", "not valid Python"),
    "a part where edits were asked for": (fenced("def other():\n    pass\n"), "diff", "no SEARCH/REPLACE block"),
    "prose": ("I would use pi here. That is all.", "rewrite", "prose without a fenced program"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_plain_is_refused_with_its_reason(name: str) -> None:
    text, edits, reason = REFUSED[name]
    with pytest.raises(AnswerError, match=reason):
        apply_answer(MARKED, text, edits, "python")


def test_a_program_that_defines_something_else_is_refused_where_a_whole_program_was_asked_for() -> None:
    long = Program.of({"p.py": MARKED.text.replace(BODY, BODY + "    # a remark\n" * 60)})
    with pytest.raises(AnswerError, match="keep the markers"):
        apply_answer(long, fenced("def volume(r):\n    return r**3\n"), "rewrite", "python")


def test_several_regions_without_markers_are_refused() -> None:
    twice = Program.of({"p.py": MARKED.text + MARKED.text.replace("area", "more").replace("run", "go")})
    with pytest.raises(AnswerError, match="2 EVOLVE-BLOCK regions in the parent and 0 EVOLVE-BLOCK regions"):
        apply_answer(twice, fenced(WHOLE), "rewrite", "python")


@pytest.mark.parametrize(
    ("text", "m", "recovered"),
    [
        (tagged(fenced(WHOLE)), 4, {}),
        (fenced(WHOLE), 1, {"untagged": 1}),
        (f"{fenced(WHOLE)}\n{fenced(WHOLE_OTHER)}", 4, {"untagged": 2}),
        (json.dumps({"code": WHOLE}), 1, {"json": 1}),
        ("no program at all", 4, {}),
    ],
)
def test_what_was_not_set_apart_as_asked_is_counted_by_kind(text: str, m: int, recovered: dict[str, int]) -> None:
    parser = ChainParser(parse_format("tags:answer"), m)
    parser.feed(text)
    parser.close()
    assert parser.recovered == recovered


def test_a_completion_without_a_program_says_so() -> None:
    assert children("I am sorry.", PLAIN) == ([], ["the completion holds no answer in the format asked for"])


def test_answers_in_tags_are_handed_on_while_the_completion_goes_on() -> None:
    parser = ChainParser(parse_format("tags:answer"), 4)
    assert [one.text for one in parser.feed(tagged(fenced(WHOLE)))] == [fenced(WHOLE)]
    assert parser.feed("<answer_2>words that say what should be done") == []
    assert parser.feed("</answer_2>") == []
    assert [one.text for one in parser.close()] == ["words that say what should be done"]


@pytest.mark.parametrize(("text", "placeholder", "fragment"), [
    ("...", True, False), ("```python\n...\n```", True, False), ("(a whole program)", True, False),
    ("(a whole answer)", True, False), ("```text\n(a whole answer)\n```", True, False),
    ("x = 3", False, False), ("print(1)", False, False), ("1", False, False), ("", False, False),
    ("should move the circles apart", False, True), ("The radius is small.\nMake it larger then.", False, True),
])  # fmt: skip
def test_an_outline_and_words_to_a_reader_are_told_from_programs(text: str, placeholder: bool, fragment: bool) -> None:
    assert (is_placeholder(text), is_fragment(text)) == (placeholder, fragment)

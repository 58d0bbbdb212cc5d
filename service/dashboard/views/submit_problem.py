"""A new problem as it is typed: by its fields, or file by file."""

import json
from collections import Counter
from dataclasses import dataclass

from evolve.answers.regions import regions
from evolve.errors import AnswerError
from service.dashboard.formatting import plain
from service.dashboard.session import FormData
from service.errors import InvalidProblemError, UsageError
from service.schemas.problems import ProblemCreate
from service.schemas.requests import checked

STORED, FIELDS, FILES = "stored", "fields", "files"
DOCUMENT, PROGRAM, EVALUATOR = "problem.toml", "program.py", "evaluator.py"
NUMBERS = ("low", "high", "reference", "target")
NAMES = (DOCUMENT, PROGRAM, EVALUATOR)
MIN_ROWS = 2
STARTER_PROGRAM = """# EVOLVE-BLOCK-START
def solve():
    return 0.1
# EVOLVE-BLOCK-END
"""
STARTER_EVALUATOR = '''def score(outputs, program):
    """Score what solve() gave: outputs[0] holds its value, or the error that it ended in."""
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    x = float(outputs[0]["value"])
    return {"height": 1 - (x - 0.7) ** 2}
'''
STARTER_DOCUMENT = """schema = 1
name = "my-problem"
description = "Find the number at which the curve is highest."
seeds = ["program.py"]

[evaluator]
file = "evaluator.py"
entry = "solve"

[[objectives]]
name = "height"
direction = "maximize"
"""
STARTER_FILES = ((DOCUMENT, STARTER_DOCUMENT), (PROGRAM, STARTER_PROGRAM), (EVALUATOR, STARTER_EVALUATOR))
STARTER = {
    "name": "my-problem",
    "description": "Find the number at which the curve is highest. solve() returns it.",
    "entry": "solve",
    "objective_name": "height",
    "program_text": STARTER_PROGRAM,
    "evaluator_text": STARTER_EVALUATOR,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveRow:
    """One objective as it is typed."""

    name: str = ""
    direction: str = "maximize"
    low: str = ""
    high: str = ""
    reference: str = ""
    target: str = ""

    @property
    def empty(self) -> bool:
        """Whether nothing was typed; a direction always is."""
        return not any((self.name, *(getattr(self, number) for number in NUMBERS)))


def rows_of(form: FormData) -> list[ObjectiveRow]:
    """The objectives of a form, the last ones for further ones."""
    columns = {name: form.several(f"objective_{name}") for name in ("name", "direction", *NUMBERS)}
    height = max(map(len, columns.values()), default=0)
    rows = [
        ObjectiveRow(**{name: column[at].strip() for name, column in columns.items() if at < len(column)})
        for at in range(height)
    ]
    typed = [row for row in rows if not row.empty]
    return [*typed, *[ObjectiveRow()] * max(1, MIN_ROWS - len(typed))]


def files_of(form: FormData) -> list[tuple[str, str]]:
    """The files of a form by name, in its order; those without a name and a text are left out."""
    names, texts = form.several("file_name"), form.several("file_text")
    pairs = [(name.strip(), text) for name, text in zip(names, texts, strict=False)]
    return [(name, text) for name, text in pairs if name or text]


def problem_of(form: FormData) -> ProblemCreate:
    """The problem that a form describes.

    Raises:
        InvalidProblemError: it cannot be sent; each complaint begins with the name of its field and a colon.
    """
    files = _written(form) if form.get("source") == FIELDS else _typed(form)
    try:
        return checked(ProblemCreate, files=files)
    except UsageError as error:
        raise InvalidProblemError([f"files: {error}"]) from None


def _typed(form: FormData) -> dict[str, str]:
    pairs = files_of(form)
    complaints = [f"files: give the file that begins with {plain(text, 30)} a name" for name, text in pairs if not name]
    seen = Counter(name for name, _ in pairs)
    complaints += [f"files: {plain(name, 60)} is there twice" for name, times in seen.items() if times > 1]
    if not pairs:
        complaints.append(f"files: add {DOCUMENT}, a seed program and an evaluator")
    if complaints:
        raise InvalidProblemError(complaints)
    return dict(pairs)


def _written(form: FormData) -> dict[str, str]:
    rows = [row for row in rows_of(form) if not row.empty]
    complaints = [
        f"{place}: {words}"
        for place, words, text in (
            ("name", "give the problem a name", form.get("name", "")),
            ("entry", "name the function that is called", form.get("entry", "")),
            ("program_text", "write the program to start from", form.get("program_text", "")),
            ("evaluator_text", "write the function score(outputs, program)", form.get("evaluator_text", "")),
        )
        if not text.strip()
    ]
    complaints += [f"objectives: {words}" for row in rows if (words := _complaint(row))]
    try:
        regions(form.get("program_text", ""))
    except AnswerError as error:
        complaints.append(f"program_text: {error}")
    if complaints:
        raise InvalidProblemError(complaints)
    return {
        DOCUMENT: document_of(form),
        PROGRAM: form.get("program_text", ""),
        EVALUATOR: form.get("evaluator_text", ""),
    }


def _complaint(row: ObjectiveRow) -> str:
    if not row.name:
        return "give each objective the name under which the evaluator returns it"
    for number in NUMBERS:
        text = getattr(row, number)
        try:
            float(text or "0")
        except ValueError:
            return f"{number} of {plain(row.name, 40)} is not a number: {plain(text, 40)}"
    return ""


def document_of(form: FormData) -> str:
    """The `problem.toml` that the fields of a form say.

    Raises:
        ValueError: what stands in the place of a number is none.
    """
    rows = [row for row in rows_of(form) if not row.empty]
    lines = ["schema = 1", f"name = {_quoted(form.get('name', '').strip())}"]
    lines += [f"description = {_quoted(form.get('description', '').strip())}", f"seeds = [{_quoted(PROGRAM)}]"]
    lines += ["", "[evaluator]", f"file = {_quoted(EVALUATOR)}", f"entry = {_quoted(form.get('entry', '').strip())}"]
    for row in rows:
        lines += ["", "[[objectives]]", f"name = {_quoted(row.name)}", f"direction = {_quoted(row.direction)}"]
        lines += [f"{number} = {float(text)!r}" for number in NUMBERS if (text := getattr(row, number))]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    # A text of JSON is one of TOML but for this character, which JSON lets stand.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def place_of(complaint: str, form: FormData) -> tuple[str, str]:
    """The field that a complaint about a problem is about, and the complaint."""
    place, colon, words = complaint.partition(": ")
    if colon and place in {"name", "entry", "program_text", "evaluator_text", "objectives", "files"}:
        return place, words
    if form.get("source") == FILES:
        return "files", complaint
    if form.get("source") == STORED:
        return "problem", complaint
    about = complaint.removeprefix(f"{DOCUMENT}: ")
    marks = {
        "objectives": ("objective", "measure "),
        "entry": ("evaluator.entry", "entry"),
        "evaluator_text": ("the evaluator", "evaluator"),
        "program_text": ("the seed", "seed"),
        "name": ("name", "the name"),
    }
    return next((field for field, begin in marks.items() if about.startswith(tuple(begin))), "problem"), about


def regions_said(form: FormData) -> str:
    """How much of the program may change, in a sentence; empty where that is not known."""
    text = form.get("program_text", "")
    if form.get("source") != FIELDS or not text.strip():
        return ""
    try:
        found = regions(text)
    except AnswerError:
        return ""  # it is complained of
    if not found:
        return "There are no EVOLVE-BLOCK markers: every line of the program may change."
    lines = sum(region.end - region.start for region in found)
    whole = len(text.rstrip("\n").split("\n"))
    return f"{lines} of {whole} lines may change, in {len(found)} EVOLVE-BLOCK region{'s'[: len(found) != 1]}."

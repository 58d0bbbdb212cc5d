"""A problem begun from a question of a domain."""

import json
from pathlib import Path

from evolve.extensions import ExtensionKind, is_known
from service.errors import UsageError
from service.problems.domains.own import init_own_domain
from service.problems.domains.published import FIELDS, read_question
from service.problems.domains.rows import read_row_of
from service.problems.domains.table import NAMES
from service.problems.init import name_for, write_problem

_HEAD = """\
# A question of a domain as a problem; the domain gives description, objectives and evaluator.
# Check it with `evolve problem check .`
schema = 1
name = "{name}"

[domain]
name = "{domain}"
"""
_MAZE = """\
kind = "hard"                            # small, hard or nine
split = "questions"                      # train, validation, test or questions
number = {number}
"""
_ROW = """\
file = "question.json"                                      # a row of the published data set
"""
_SEARCH = """
[search]                                 # defaults of the run configuration
evaluations = 256
"""


def init_domain(folder: Path, domain: str, data: Path | None, number: int | None) -> tuple[Path, ...]:
    """Write a problem that asks a question of a domain. Returns the written files.

    Args:
        folder: a missing or empty folder.
        domain: its name.
        data: file with the question. None for mazes.
        number: of the question in the file, or of the maze, from 0. None: the only question, or the first.

    Raises:
        UsageError: the domain does not exist, or a required file is missing.
        InvalidProblemError: the file does not hold that question.
        ConflictError: the folder is not empty, is a file, or cannot be written.
    """
    if domain not in NAMES and is_known(ExtensionKind.DOMAIN, domain):
        if data is not None:
            raise UsageError(f"the domain {domain[:100]} brings its own questions: leave --data out")
        return init_own_domain(folder, domain, number)
    if domain not in NAMES:
        raise UsageError(
            f"--domain {domain[:100]!r} is not a domain: choose {', '.join(NAMES)}, or module:Class of your own"
        )
    if (domain == "maze") != (data is None):
        raise UsageError(
            "the mazes are fixed: leave --data out"
            if domain == "maze"
            else f"name the file of the data set that holds the question: --domain {domain} --data FILE --number N"
        )
    head = _HEAD.format(name=name_for(folder), domain=domain)
    if data is None:
        return write_problem(folder, {"problem.toml": head + _MAZE.format(number=number or 0) + _SEARCH})
    row = read_row_of(data, number)
    read_question(domain, row, str(data))
    kept = {field: row[field] for field in FIELDS[domain] if field in row}
    text = json.dumps(kept, indent=1, default=str)
    return write_problem(folder, {"problem.toml": head + _ROW + _SEARCH, "question.json": text + "\n"})

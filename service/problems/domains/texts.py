"""The files of a question: its evaluator, the code that runs programs on tests, a seed, and the form of an answer."""

from typing import Any

from evolve.answers.syntax_trees import syntax_tree
from evolve.domains import eureqa, livecodebench, musique, toolrl
from evolve.domains.maze.grid import MOVES, Maze

TEST_SECONDS = 6
SCORING = "evolve.domains.scoring"

_HEAD = '''\
"""Scores {what}. Written by Evolve for a [domain] of problem.toml."""

import json
from pathlib import Path

from evolve.domains.scoring import {names}

QUESTION = json.loads(Path(__file__).with_name("question.json").read_text(encoding="utf-8"))

'''
_TEXT_EVALUATOR = """
def score(outputs, program):
    return score_answer("{name}", QUESTION, program)
"""
_PROGRAM_EVALUATOR = """
def inputs():
    return inputs_of(QUESTION)


def score(outputs, program):
    return score_outputs(QUESTION, outputs)
"""
# What a program finds that is asked for a function: the annotations of a starter stand on these names.
_MODULES = ("collections", "heapq", "bisect", "math", "itertools", "functools")
_CALL = f"""\
import json, sys
scope = {{"__name__": "program"}}
for name in {_MODULES!r}:
    exec(f"from {{name}} import *\\nimport {{name}}", scope)
exec("from typing import *", scope)
with open(sys.argv[1], encoding="utf-8") as file:
    exec(compile(file.read(), sys.argv[1], "exec"), scope)
call = getattr(scope["Solution"](), sys.argv[2]) if "Solution" in scope else scope[sys.argv[2]]
arguments = [json.loads(line) for line in sys.stdin.read().split("\\n") if line.strip()]
out, sys.stdout = sys.stdout, sys.stderr
out.write(json.dumps(call(*arguments), default=list))
"""
# One test, a process of its own: `{python} -c RUNNER FILE`, a test as JSON in, what came of it as JSON out.
RUNNER = f"""\
import json, subprocess, sys
test = json.load(sys.stdin)
called = [sys.executable, "-c", {_CALL!r}, sys.argv[1], test["call"]] if "call" in test else None
try:
    done = subprocess.run(
        called or [sys.executable, sys.argv[1]], input=test["arguments" if called else "read"],
        capture_output=True, text=True, errors="replace", timeout={TEST_SECONDS},
    )
    last = done.stderr.strip().splitlines()[-1:] or [f"it ended with status {{done.returncode}}"]
    came = {{"printed": done.stdout[:10000], "failed": last[0][:300] if done.returncode else ""}}
except subprocess.TimeoutExpired:
    came = {{"printed": "", "failed": "it took more than {TEST_SECONDS} seconds"}}
print(json.dumps(came))
"""


def evaluator_text(name: str) -> str:
    """The evaluator of a question of the domain of that name."""
    if name == "livecodebench":
        return (
            _HEAD.format(what="a program by the tests beside it", names="inputs_of, score_outputs") + _PROGRAM_EVALUATOR
        )
    return _HEAD.format(what="an answer to the question beside it", names="score_answer") + _TEXT_EVALUATOR.format(
        name=name
    )


def form_of_answer(question: Any) -> str:
    """How an answer is written that is a program of its own, without the tags of a completion."""
    match question:
        case Maze():
            return (
                "An answer is only moves: as words (RIGHT DOWN), as letters (RD), or each with the cell that it"
                " leads to (Rb1 Db2)."
            )
        case musique.MusiqueQuestion():
            return (
                f"An answer is two lines: the numbers of the paragraphs that it follows from, at most {musique.HOPS},"
                " and the answer in a few words, such as\nsupport: 0, 4\nanswer: a name"
            )
        case eureqa.EureqaQuestion():
            form = "\n".join(f"<{tag}>Name_of_it</{tag}>" for tag in eureqa.OBJECTIVES)
            return f"An answer gives all five names, as in the titles of their Wikipedia pages:\n{form}"
        case toolrl.ToolTask():
            return "An answer is a single reply of this form." if question.system else toolrl.FORM
        case _:
            names = f" All of typing, {', '.join(_MODULES)} is imported." if question.function else ""
            return f"An answer is one Python program.{names}"


def seed_of(question: Any) -> tuple[str, str]:
    """File and text of a plain first answer."""
    match question:
        case Maze():
            return "seed.txt", f"{shortest_walk(question) or MOVES[-1]}\n"
        case musique.MusiqueQuestion():
            return "seed.txt", "support: 0\nanswer: unknown\n"
        case eureqa.EureqaQuestion():
            return "seed.txt", "".join(f"<{tag}>unknown</{tag}>\n" for tag in eureqa.OBJECTIVES)
        case toolrl.ToolTask():
            return "seed.txt", "<think>Nothing is known yet.</think>\n<response>I do not know.</response>\n"
        case _:
            return "seed.py", _program(question)


def shortest_walk(maze: Maze) -> str:
    """A shortest walk from S to E in letters, over any cells. Empty if there is none within the limit."""
    walks = {maze.start: ""}
    edge = [maze.start]
    while edge and maze.goal not in walks:
        cells, edge = edge, []
        for cell in cells:
            for move, to in zip(MOVES, maze.steps[cell], strict=True):
                if to not in walks:
                    walks[to] = walks[cell] + move
                    edge.append(to)
    found = walks.get(maze.goal, "")
    return found if len(found) <= maze.limit else ""


def _program(question: livecodebench.CodingTask) -> str:
    if not question.function:
        return "print(input())\n"
    body = question.starter.rstrip()
    last = body.rpartition("\n")[2]
    started = f"{body}\n{' ' * (len(last) - len(last.lstrip()) + 4)}pass\n"
    try:
        syntax_tree(started)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return f"class Solution:\n    def {question.function}(self, *arguments):\n        pass\n"
    return started

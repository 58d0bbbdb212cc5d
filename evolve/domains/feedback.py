"""Feedback on an answer for the next prompt. It says which parts were right, and never reveals the solution."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from evolve.domains import eureqa, musique, toolrl
from evolve.domains.maze.grid import Maze, walk
from evolve.domains.maze.words import cell_name, steps
from evolve.multiobjective.scalarization import Floats


def remarks(name: str, question: Any, answer: Any, vector: Floats) -> str:
    """Sentences about an answer of a domain of that name.

    Args:
        name: a domain whose answers are texts.
        question: the question.
        answer: the parsed answer.
        vector: its reward vector.

    Raises:
        KeyError: the domain does not exist.
    """
    return _WRITERS[name](question, answer, vector)


def _maze(maze: Maze, moves: str, _: Floats) -> str:
    walked = walk(maze, moves)
    trail = steps(maze, moves[: walked.steps])
    cells = [cell_name(maze, maze.start), *(word[1:] for word in trail)]
    bumps = sum(before == after for before, after in pairwise(cells))
    goal = cell_name(maze, maze.goal)
    lines = [
        f"The walk ends on E ({goal})" if walked.reached else f"The walk ends on {cells[-1]}, not on E ({goal})",
        f" after {walked.steps} of at most {maze.limit} moves."
        f" It took {walked.gold} of {len(maze.gold)} gold and {walked.diamonds} of {len(maze.diamonds)} diamonds.",
        f" {_count(walked.lava, 'lava cell was', 'lava cells were')} stepped on."
        if maze.rules.ends_on_exit
        else f" {_count(walked.lava, 'step', 'steps')} led onto lava.",
        f" {_count(bumps, 'move', 'moves')} led against a wall or the border." if bumps else "",
        f" {_count(len(moves) - walked.steps, 'move', 'moves')} after the end did not count."
        if len(moves) > walked.steps
        else "",
        f"\nWith the cell that each move leads to: {' '.join(trail)}",
    ]
    return "".join(lines)


def _musique(question: musique.MusiqueQuestion, answer: musique.CitedAnswer, vector: Floats) -> str:
    right = [str(place) for place in answer.support if place in question.support]
    wrong = [str(place) for place in answer.support if place not in question.support]
    missed = len(set(question.support) - set(answer.support))
    return " ".join(
        [
            f"Cited and needed: {', '.join(right) or 'none'}. Cited and not needed: {', '.join(wrong) or 'none'}."
            f" Needed and not cited: {missed}.",
            "The answer is correct."
            if vector[-1] >= 1
            else "The answer shares words with the correct answer."
            if vector[-1] > 0
            else "The answer shares no word with the correct answer.",
        ]
    )


def _eureqa(_: eureqa.EureqaQuestion, answer: tuple[str, ...], vector: Floats) -> str:
    named = dict(zip(eureqa.OBJECTIVES, zip(answer, vector, strict=True), strict=True))
    groups = {
        "Right": [tag for tag, (_, earned) in named.items() if earned],
        "Wrong": [tag for tag, (name, earned) in named.items() if name and not earned],
        "Not named": [tag for tag, (name, _) in named.items() if not name],
    }
    return " ".join(f"{label}: {', '.join(tags)}." for label, tags in groups.items() if tags)


def _toolrl(question: toolrl.ToolTask, answer: toolrl.Attempt, vector: Floats) -> str:
    lines = ["The form of the reply is right." if vector[0] else "The form of the reply is wrong."]
    if not answer.calls:
        return " ".join([*lines, "It makes no call, and some are needed." if question.calls else "No call is needed."])
    pairs = toolrl.paired(answer.calls, question.calls)
    for number, call in enumerate(answer.calls, start=1):
        partner = next((wanted for made, wanted in pairs if made is call), None)
        lines.append(f"Call {number}, {call.name[:80]!r}: {_call(call, partner)}.")
    if len(pairs) < len(question.calls):
        lines.append("More calls are needed.")
    return " ".join(lines)


def _call(made: toolrl.ToolCall, wanted: toolrl.ToolCall | None) -> str:
    if wanted is None:
        return "one too many"
    judged = {key: _argument(value, wanted.arguments, key) for key, value in made.arguments.items()}
    told = ["the right tool" if made.name == wanted.name else "another tool is needed"]
    told += [f"{key[:80]!r} {verdict}" for key, verdict in judged.items()]
    if set(wanted.arguments) - set(made.arguments):
        told.append("arguments are missing")
    return ", ".join(told)


def _argument(value: object, wanted: Mapping[str, Any], key: str) -> str:
    if key not in wanted:
        return "is not wanted"
    share = toolrl.match(value, wanted[key])
    return "is right" if share >= 1 else "is partly right" if share > 0 else "has another value"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


_WRITERS: Mapping[str, Callable[[Any, Any, Floats], str]] = MappingProxyType(
    {"maze": _maze, "musique": _musique, "eureqa": _eureqa, "toolrl": _toolrl}
)

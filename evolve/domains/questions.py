"""Questions of the domains as JSON values, and back."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from evolve.domains import eureqa, livecodebench, musique, toolrl
from evolve.domains.domain import Domain
from evolve.domains.maze.domain import MazeDomain
from evolve.domains.maze.grid import Maze, read, render

# LiveCodeBench is not among them: its rewards take programs that are run elsewhere.
TEXT_DOMAINS: Mapping[str, Domain[Any, Any]] = MappingProxyType(
    {"maze": MazeDomain(), "musique": musique.Musique(), "eureqa": eureqa.Eureqa(), "toolrl": toolrl.ToolRL()}
)


def question_as_json(question: Any) -> dict[str, Any]:
    """A question of any domain as a JSON object. `question_from_json` reads it back."""
    return {"maze": render(question)} if isinstance(question, Maze) else asdict(question)


def question_from_json(name: str, value: Mapping[str, Any]) -> Any:
    """Read a value of `question_as_json` for a domain of that name.

    Raises:
        KeyError: the domain does not exist, or the value has another form.
        ProblemError: the question is invalid.
    """
    return _READERS[name](value)


def _maze(value: Mapping[str, Any]) -> Maze:
    return read(value["maze"])


def _musique(value: Mapping[str, Any]) -> musique.MusiqueQuestion:
    return musique.MusiqueQuestion(
        text=value["text"],
        paragraphs=tuple((title, text) for title, text in value["paragraphs"]),
        support=tuple(value["support"]),
        answer=value["answer"],
        aliases=tuple(value["aliases"]),
    )


def _eureqa(value: Mapping[str, Any]) -> eureqa.EureqaQuestion:
    return eureqa.EureqaQuestion(
        narrative=value["narrative"], masks=tuple(value["masks"]), entities=tuple(value["entities"])
    )


def _toolrl(value: Mapping[str, Any]) -> toolrl.ToolTask:
    calls = tuple(toolrl.ToolCall(name=call["name"], arguments=call["arguments"]) for call in value["calls"])
    return toolrl.ToolTask(user=value["user"], system=value["system"], calls=calls)


def _livecodebench(value: Mapping[str, Any]) -> livecodebench.CodingTask:
    tests = tuple(livecodebench.Test(input=test["input"], output=test["output"]) for test in value["tests"])
    return livecodebench.CodingTask(
        statement=value["statement"], tests=tests, starter=value["starter"], function=value["function"]
    )


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = MappingProxyType(
    {"maze": _maze, "musique": _musique, "eureqa": _eureqa, "toolrl": _toolrl, "livecodebench": _livecodebench}
)

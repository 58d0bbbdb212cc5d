"""A command line as a problem: its sources, the files that stay, and the part of a script that may change."""

from dataclasses import dataclass
from pathlib import Path

from evolve.answers.regions import regions
from evolve.errors import AnswerError
from service.errors import UsageError
from service.problems.command.command_scorer.process import PYTHON
from service.problems.command.local_files import local_files, relative
from service.problems.command.mutable_part import MutablePart, find_mutable_part
from service.problems.command.problem_files import CommandProblem
from service.problems.command.words import CommandWords, read_command, script_arguments
from service.problems.init import name_for

MAX_CHARACTERS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOrder:
    """The words that name a command and its files.

    Attributes:
        script: a Python file that is program and scorer at once; None: `command` and `sources` are named.
        sources: files that may change.
        read: files and folders that the command may read, beside those that its words name.
        path: folders of programs.
        python: the interpreter; empty: the one that the word `python` means, or the one that runs Evolve.
    """

    script: Path | None = None
    command: str = ""
    sources: tuple[Path, ...] = ()
    metric: str = ""
    pattern: str = ""
    read: tuple[Path, ...] = ()
    path: tuple[Path, ...] = ()
    python: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCommand:
    """A command as a problem, and the part of its script that may change.

    Attributes:
        problem: the command.
        scores_itself: whether a file that may change prints the score.
        part: where that file may change; None: it cannot be told, or no file scores itself.
    """

    problem: CommandProblem
    scores_itself: bool
    part: MutablePart | None

    @property
    def mutable_lines(self) -> int:
        """How many lines of the script may change, by its markers, in any language; 0: it has none that pair up."""
        try:
            found = regions(self.problem.sources.get(self.problem.script, ""))
        except AnswerError:
            return 0
        return sum(region.end - region.start for region in found)


def plan_command(order: CommandOrder, here: Path) -> PlannedCommand:
    """Find out what a command runs on.

    Args:
        order: the words.
        here: the folder in which they were typed.

    Raises:
        UsageError: a file is not there or is no text, or the words contradict each other.
    """
    folder, sources, words = _named(order, here)
    texts = {path: _text(folder / path) for path in sources}
    files = local_files(words.tokens, sources, folder)
    script = next((path for path in sources if path in words.tokens or f"./{path}" in words.tokens), "")
    part = find_mutable_part(texts[script]) if script.endswith(".py") else None
    if part is not None:
        texts[script] = part.text
    name = Path(script or sources[0]).stem
    problem = CommandProblem(
        name=name_for(folder / name),
        folder=folder,
        argv=words.argv,
        sources=texts,
        files=files,
        script=script,
        arguments=script_arguments(words.argv, script),
        functions=part.functions if part else (),
        watched=part.watched if part is not None and part.timed else (),
        python=order.python or words.python,
        metric=order.metric,
        pattern=order.pattern,
        read=tuple(str(_there(path, here)) for path in order.read),
        path=tuple(str(_there(path, here)) for path in order.path),
    )
    return PlannedCommand(problem=problem, scores_itself=bool(script), part=part)


def _named(order: CommandOrder, here: Path) -> tuple[Path, tuple[str, ...], CommandWords]:
    """The folder of the command, its sources and its words."""
    if order.script is not None:
        if order.command or order.sources:
            raise UsageError(
                f"{order.script} is a command by itself: leave it out, or leave out --command and --source"
            )
        script = _there(order.script, here)
        words = CommandWords(argv=(PYTHON, script.name), tokens=(script.name,))
        return script.parent, (script.name,), words
    if not order.command:
        raise UsageError('--source needs the command that prints the score: --command "python bench.py"')
    if not order.sources:
        raise UsageError("--command needs the files that may change: name each with --source FILE")
    sources = tuple(dict.fromkeys(relative(path, here) for path in order.sources))
    return here, sources, read_command(order.command)


def _there(path: Path, here: Path) -> Path:
    whole = (here / path.expanduser()).resolve()
    if not whole.exists():
        raise UsageError(f"{path} does not exist: name a file or folder that is there")
    return whole


def _text(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read as text: {error}") from error
    if not text.strip() or len(text) > MAX_CHARACTERS:
        raise UsageError(f"{path} has {len(text)} characters: a program has 1 to {MAX_CHARACTERS}")
    return text

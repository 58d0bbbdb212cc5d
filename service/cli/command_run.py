"""`evolve run` on a command or a script instead of a problem: what was understood, what it costs, then the search."""

import asyncio
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any

from service.bootstrap.evaluators import choose_evaluators
from service.cli import formatting
from service.cli.run_options import RunOptions
from service.cli.terminal import Terminal
from service.config import load_settings
from service.errors import UsageError
from service.identifiers import new_id
from service.problems.command.problem_files import ScoringRules, write_command_problem
from service.problems.load import load_problem
from service.problems.project import Project
from service.problems.recognition import is_problem_file
from service.timestamps import SystemClock
from service.usecases.command_problem import CommandOrder, PlannedCommand, plan_command
from service.usecases.estimate_cost import CostEstimate, estimate_cost
from service.usecases.observe_command import Observation, observe
from service.usecases.plan import RunOrder, plan_loaded

MAX_NAMES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOptions:
    """The words of `evolve run` that make a problem of a command.

    Attributes:
        minimize: None: the name and the unit of the score say.
        save: folder for the problem; None: it is gone after the run.
        trust_score: whether a script that scores itself may do without anything that shows that it cheats.
    """

    order: CommandOrder
    minimize: bool | None = None
    goal: float | None = None
    save: Path | None = None
    trust_score: bool = False

    @property
    def named(self) -> bool:
        """Whether a command is meant, and not a problem."""
        return bool(self.order.script or self.order.command or self.order.sources)

    @property
    def idle(self) -> list[str]:
        """Options that only go with a command."""
        order = self.order
        given = {
            "--metric": order.metric,
            "--pattern": order.pattern,
            "--read": order.read,
            "--path": order.path,
            "--minimize, --maximize": self.minimize is not None,
            "--goal": self.goal is not None,
            "--save": self.save,
            "--trust-score": self.trust_score,
        }
        return [name for name, value in given.items() if value]


def read_command_options(words: Mapping[str, Any]) -> CommandOptions:
    """The words of `evolve run` that make a problem of a command.

    Args:
        words: values of the command's parameters by their names.
    """
    place, evaluator = words["problem"], words["evaluator"]
    lone = place is not None and evaluator is None and place.suffix == ".py" and place.is_file()
    script = place if lone and not words["format"] and not is_problem_file(place) else None
    order = CommandOrder(
        script=script,
        command=words["command"] or "",
        sources=tuple(words["source"] or ()),
        metric=words["metric"] or "",
        pattern=words["pattern"] or "",
        read=tuple(words["read"] or ()),
        path=tuple(words["path"] or ()),
        python=words["python"] or "",
    )
    if (order.command or order.sources) and place is not None and script is None:
        raise UsageError(f"{place} is a problem, which has its own evaluator: leave it out, or leave out --command")
    return CommandOptions(
        order=order,
        minimize=words["minimize"],
        goal=words["goal"],
        save=words["save"],
        trust_score=words["trust_score"],
    )


@contextmanager
def command_project(terminal: Terminal, options: RunOptions, asked: CommandOptions) -> Iterator[RunOptions]:
    """The options of a run on a problem that is made of the command; its folder is there until the run has ended.

    Raises:
        UsageError: the words are off, nothing shows that a score is real, or a person must agree first.
        InvalidProblemError: the command prints no score.
    """
    if options.resume is not None:
        raise UsageError("a resumed run keeps its problem: leave out the command and its sources")
    planned = plan_command(asked.order, Path.cwd())
    _require_part(planned, asked)
    evaluators = choose_evaluators(load_settings(), queue="", require=options.require_isolation)
    with terminal.doing("running the seed twice"):
        seen = asyncio.run(observe(planned.problem, evaluators))
    minimize = seen.looks_minimized if asked.minimize is None else asked.minimize
    rules = seen.rules(minimize=minimize, goal=asked.goal, timed=bool(planned.part and planned.part.timed))
    for line in (*_understood(planned, seen, rules), *_suggested(seen, rules)):
        terminal.note(line)
    _require_check(planned, seen, asked)
    with tempfile.TemporaryDirectory(prefix="evolve-") as scratch:
        folder = asked.save or Path(scratch) / planned.problem.name
        write_command_problem(folder, planned.problem, rules)
        options = replace(options, problem=Project(folder=folder, python=planned.problem.python))
        estimate = _estimate(options, folder, max(seen.seconds))
        terminal.note(_cost(estimate))
        _agree(terminal, planned, estimate, yes=options.yes)
        if asked.save:
            terminal.note(f"saved the problem. Run it again with: {terminal.command(f'run {quote(str(folder))}')}")
        yield options


def _require_part(planned: PlannedCommand, asked: CommandOptions) -> None:
    script = planned.problem.script
    if planned.scores_itself and not planned.mutable_lines and not asked.trust_score:
        raise UsageError(
            f"{script} prints its own score, and no function of it can be told from the part that measures. Put"
            " EVOLVE-BLOCK-START and EVOLVE-BLOCK-END in comments around the lines that may change, or let everything"
            " change with --trust-score"
        )


def _require_check(planned: PlannedCommand, seen: Observation, asked: CommandOptions) -> None:
    if planned.scores_itself and not seen.checkable and not asked.trust_score:
        raise UsageError(
            f"{planned.problem.script} prints its own score, and nothing beside it shows that a program still does its"
            " work. Let it print a result that must stay, move the measurement into a file of its own (--source FILE"
            " --command ...), or accept any score with --trust-score"
        )


def _understood(planned: PlannedCommand, seen: Observation, rules: ScoringRules) -> Iterator[str]:
    problem, part = planned.problem, planned.part
    scores = " and ".join(formatting.number(score) + (" s" if seen.unit else "") for score in seen.scores)
    better = "lower" if rules.minimize else "higher"
    yield f"score: {rules.objective} ({seen.form}), {scores} in two runs, {better} is better"
    yield f"command: {' '.join(problem.argv)}"
    if planned.mutable_lines:
        lines = formatting.plural(planned.mutable_lines, "line")
        named = _listed(part.functions) if part else ""
        yield f"may change: {lines} of {problem.script}: {named or 'between the markers'}"
    if part is not None:
        reasons = [f"{name} ({reason})" for name, reason in part.fixed.items()]
        yield f"stays: {_listed(reasons)}{' and ' if reasons else ''}the statements outside of functions"
    elif not planned.mutable_lines:
        yield f"may change: {_listed(list(problem.sources))}"
    if problem.files:
        yield f"stays: {_listed(problem.files)}"
    checks = [f"{formatting.plural(len(seen.calls), 'call')} of {_listed(problem.watched)}"] if seen.calls else []
    checks += [f"{key} = {str(value)[:40]}" for key, value in seen.values.items()]
    checks += [repr(line[:60]) for line in seen.lines]
    yield f"must stay: {_listed(checks) or 'nothing beside the score can be compared'}"


def _suggested(seen: Observation, rules: ScoringRules) -> Iterator[str]:
    took = " and ".join(map(formatting.duration, seen.seconds))
    limits = rules.limits
    yield (
        f"noise {formatting.share(seen.noise)}, time {took}: limits of {limits.wall_seconds:g} s and"
        f" {limits.memory_mb} MB, {formatting.plural(rules.repeats, 'repeat')}"
        + (", one evaluation at a time because it is timed" if rules.slots == 1 else "")
    )


def _listed(names: "list[str] | tuple[str, ...]") -> str:
    shown = ", ".join(names[:MAX_NAMES])
    return shown if len(names) <= MAX_NAMES else f"{shown} and {len(names) - MAX_NAMES} more"


def _estimate(options: RunOptions, folder: Path, seconds: float) -> CostEstimate:
    order = RunOrder(
        problem=folder,
        config=options.config,
        settings=options.settings,
        flags=options.given,
        policies=options.asked.names,
        model=options.asked.model,
        params=options.asked.params,
    )
    return estimate_cost(plan_loaded(order, load_problem(folder), new_id("run", SystemClock().now())), seconds)


def _cost(estimate: CostEstimate) -> str:
    parts = [formatting.plural(estimate.evaluations, "evaluation"), f"about {formatting.duration(estimate.seconds)}"]
    if estimate.calls:
        parts += [formatting.plural(estimate.calls, "model call"), f"{formatting.count(estimate.tokens)} tokens"]
        known = estimate.money is not None
        parts.append(f"{estimate.money:.2f} {estimate.currency}" if known else "a cost that needs a price of the model")
    else:
        parts.append("no model, no cost")
    return f"estimate: {', '.join(parts)}"


def _agree(terminal: Terminal, planned: PlannedCommand, estimate: CostEstimate, *, yes: bool) -> None:
    """Ask about the part that may change and about a large cost; with nobody to ask, say how to agree."""
    found = planned.part is not None and not planned.part.marked
    if yes or not (found or estimate.large):
        return
    agreed = terminal.agreed("search like this")
    if agreed is None:
        why = "the part that may change was found, not named" if found else "the run is long or costs much"
        raise UsageError(f"{why}: read the lines above, then agree with --yes")
    if not agreed:
        raise UsageError(
            "nothing was run. Mark the lines that may change with EVOLVE-BLOCK-START and EVOLVE-BLOCK-END in comments,"
            " or set a smaller budget with --evaluations"
        )

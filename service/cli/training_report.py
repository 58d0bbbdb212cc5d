"""The lines of a training: updates, tests, and the time that is left; and the updates of a policy within a run."""

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from service.cli import formatting
from service.cli.terminal import Terminal, plain
from service.jsonlines import as_line
from service.ports import ENDED

if TYPE_CHECKING:
    from service.ports import RunRecord
    from service.projections.run_site import RunSite

_TAUGHT = ("loss", "token_accuracy")  # of fine-tuning on demonstrations
_SHOWN = ("set_reward", "group_std", "unread", "kl", "entropy")
_TESTED = ("test_set_reward", "test_unread")


def show_line(terminal: Terminal, steps: int, line: Mapping[str, Any]) -> None:
    """Show a report of `training.reward_training.train` or `training.sft`."""
    if terminal.as_json:
        kind = "estimate" if "estimate_seconds" in line else "warning" if "warning" in line else "step"
        print(as_line({"schema": 1, "kind": f"training.{kind}", "steps": steps, **line}), flush=True)
    elif "warning" in line:
        terminal.note(f"warning: {line['warning']}", style="yellow")
    elif "estimate_seconds" in line:
        terminal.note(_estimate(line))
    else:
        best = [name for name in line if name.startswith(("test_best@", "test_ew@"))]
        names = _TAUGHT if "token_accuracy" in line else (*_SHOWN, *_TESTED, *best)
        seen = "  ".join(f"{name} {line[name]:.3f}" for name in names if line.get(name) is not None)
        terminal.note(f"{line['step']}/{steps}  {seen}")


def _estimate(line: Mapping[str, Any]) -> str:
    tests = f", {line['tests_left']} tests of {formatting.duration(line['test_seconds'])}" if line["tests_left"] else ""
    return (
        f"about {formatting.duration(line['estimate_seconds'])} left: {line['updates_left']} updates of"
        f" {formatting.duration(line['update_seconds'])}{tests}. Ctrl-C ends it, --resume continues it."
    )


def hide_library_warnings() -> None:
    """Hide what transformers says to its own callers, such as TRL, about their next versions."""
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"transformers\.")


def tracker_names(text: str) -> tuple[str, ...]:
    """The trackers of a list with commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def updates_of(site: "RunSite", run: "RunRecord") -> Sequence[Mapping[str, Any]]:
    """The updates of a run's policy. Its events are asked for only where it makes any."""
    return site.updates(run) if (run.config.get("learning") or {}).get("every") else []


def update_rows(site: "RunSite", run: "RunRecord") -> list[tuple[str, str]]:
    """A row for each update: when it was due, what it made, from how many answers, and how far it moved."""
    rows = [(f"update {one['number']}", _update_words(one)) for one in updates_of(site, run)]
    none = no_updates(site, run)
    return [*rows, *([("updates", none)] if none else [])]


def no_updates(site: "RunSite", run: "RunRecord") -> str:
    """Why a run that was to train its policy did not. Empty: it did, or may do so yet."""
    learns = bool((run.config.get("learning") or {}).get("every"))
    if not learns or run.state not in ENDED or updates_of(site, run):
        return ""
    return (
        "none: the run ended before the first was trained. Search longer, or let the run wait for its updates with"
        " --set deterministic.window=2"
    )


def _update_words(update: Mapping[str, Any]) -> str:
    due = f"after {formatting.plural(int(update['answered']), 'answered proposal')}"
    took = f"in {formatting.duration(float(update['seconds']))}"
    if update.get("reason"):
        return f"{due}, {took}: none: {plain(str(update['reason']))}"
    figures = update.get("figures") or {}
    replies = f" from {formatting.count(int(figures['replies']))} replies" if "replies" in figures else ""
    moved = f", divergence {formatting.number(float(figures['divergence']), 3)}" if "divergence" in figures else ""
    return f"{due}, {took}: {plain(str(update['policy']))}{replies}{moved}"

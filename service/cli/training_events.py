"""Events of training jobs as lines, which `evolve training watch` and `evolve trainer` print."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from service.cli import formatting
from service.cli.terminal import plain

if TYPE_CHECKING:
    from service.schemas.training import TrainingEvent

# The figure that a line shows first; back ends that tell another have theirs in their order.
SHOWN = ("best", "mean", "loss", "reward", "entropy")
MAX_FIGURES = 3


def event_line(event: "TrainingEvent") -> str:
    """An event as a line: its time, what happened, and its figures."""
    return f"{event.at.astimezone():%H:%M:%S} {event_text(event.kind, event.payload)}"


def event_text(kind: str, payload: Mapping[str, Any]) -> str:
    """What happened, and its figures."""
    word = kind.removeprefix("training.")
    texts: dict[str, Callable[[], str]] = {
        "started": lambda: _from(payload.get("checkpoint") or {}),
        "checkpoint": lambda: f"{payload['stage']} {payload['step']}",
        "waiting": lambda: str(payload.get("reason", "")),
        "progress": lambda: (
            f"{payload['stage']} {payload['step']}/{payload['steps']}  {figures_text(payload['figures'])}"
        ),
        "failed": lambda: str(payload.get("error", "")),
        "lost": lambda: str(payload.get("reason", "")),
        "released": lambda: "another trainer continues it",
        "succeeded": lambda: _outcome(payload),
    }
    said = texts[word]() if word in texts else ""
    return word + (f": {plain(said)}" if said else "")


def figures_text(figures: Mapping[str, float]) -> str:
    """The few figures of a step that a line shows."""
    chosen = [name for name in SHOWN if name in figures] or list(figures)
    return ", ".join(f"{plain(name)} {formatting.number(figures[name], 3)}" for name in chosen[:MAX_FIGURES])


def _from(checkpoint: Mapping[str, Any]) -> str:
    return f"from the checkpoint {checkpoint['stage']} {checkpoint['step']}" if checkpoint else "from the beginning"


def _outcome(told: Mapping[str, Any]) -> str:
    """What came of a job: the version, the paired difference with its interval, and the decision of the gate."""
    said = f"version {told['version']}"
    if one := told.get("evaluation"):
        said += (
            f", {one['metric']} {one['mean']:.3f} against {one['baseline_mean']:.3f}:"
            f" {one['difference']:+.3f} [{one['low']:+.3f}, {one['high']:+.3f}]"
        )
    if told.get("promoted"):
        return f"{said}, promoted"
    return f"{said}. Not promoted: {told['refusal']}" if told.get("refusal") else said

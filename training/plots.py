"""Pictures of a training run, reward, entropy and diversity over its steps, and of an evaluation, figures over k."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evolve.multiobjective.scalarization import Floats
from evolve.statistics.intervals import Estimate

_PANELS = (
    ("reward", {"mean": "mean of the answers", "set": "set reward of a chain", "best": "best answer of a prompt"}),
    ("entropy of the next token (nats)", {"entropy": ""}),
    ("diversity: mean L2 between reward vectors", {"diversity": ""}),
)


def draw_training(lines: Sequence[dict[str, Any]], title: str, path: Path) -> None:
    """Draw the steps of reinforcement learning in a journal's lines as SVG, smoothed over 20 of them."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    mpl.rcParams["svg.hashsalt"] = "evolve"
    figure, panels = pyplot.subplots(1, len(_PANELS), figsize=(12, 3.4), layout="constrained")
    for panel, (label, shown) in zip(panels, _PANELS, strict=True):
        for name, words in shown.items():
            pairs = [(line["step"], line[name]) for line in lines if name in line]
            at = np.array([pair[0] for pair in pairs])
            panel.plot(at, _smoothed(np.array([pair[1] for pair in pairs])), label=words)
        panel.set_xlabel("step")
        panel.set_title(label, fontsize=9)
        panel.grid(alpha=0.3)
        if len(shown) > 1:
            panel.legend(fontsize=8)
    figure.suptitle(title, fontsize=10)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def draw_evaluation(ks: Sequence[int], curves: Mapping[str, Sequence[Estimate]], path: Path) -> None:
    """Draw figures of the best of k answers over k as SVG, with their intervals as bands."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    mpl.rcParams["svg.hashsalt"] = "evolve"
    figure, panel = pyplot.subplots(figsize=(6, 3.6), layout="constrained")
    for name, found in curves.items():
        panel.plot(ks, [one.value for one in found], marker="o", label=f"{name}@k")
        panel.fill_between(ks, [one.low for one in found], [one.high for one in found], alpha=0.2)
    panel.set_xscale("log")
    panel.set_xticks(list(ks), [str(k) for k in ks])
    panel.set_xlabel("k answers")
    panel.grid(alpha=0.3)
    panel.legend(fontsize=8)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def draw_updates(lines: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw a log of `training.reward_training` as SVG: what is rewarded, what cannot be read, and the held-out figures.

    Training is smoothed over 20 updates. Tests are drawn as they are.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    mpl.rcParams["svg.hashsalt"] = "evolve"
    tested = sorted(
        {name for line in lines for name in line if name.startswith(("test_best@", "test_ew@"))}, key=_place
    )
    figure, panels = pyplot.subplots(1, 4, figsize=(15, 3.4), layout="constrained")
    for panel, names in zip(panels, _log_panels(tested), strict=True):
        for name, words in names.items():
            pairs = [(line["step"], line[name]) for line in lines if line.get(name) is not None]
            values = np.array([pair[1] for pair in pairs], dtype=np.float64)
            test = name.startswith("test_")
            panel.plot([pair[0] for pair in pairs], values if test or not pairs else _smoothed(values),
                       marker="o" if test else None, label=words)  # fmt: skip
        panel.set_xlabel("update")
        panel.grid(alpha=0.3)
        if names:
            panel.legend(fontsize=8)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def _log_panels(tested: Sequence[str]) -> list[dict[str, str]]:
    held_out = {name: name.removeprefix("test_") for name in tested}
    return [
        {"set_reward": "set reward", "test_set_reward": "set reward, held out"},
        {"unread": "unread", "test_unread": "unread, held out", "group_std": "deviation in a group"},
        {name: words for name, words in held_out.items() if words.startswith("best")},
        {name: words for name, words in held_out.items() if words.startswith("ew")},
    ]


def _place(name: str) -> tuple[str, int]:
    figure, _, k = name.partition("@")
    return figure, int(k)


def _smoothed(values: Floats, over: int = 20) -> Floats:
    """Means over the last `over` values, fewer at the beginning."""
    sums = np.cumsum(np.concatenate([[0.0], values]))
    end = np.arange(1, len(values) + 1)
    start = np.maximum(0, end - over)
    return np.asarray((sums[end] - sums[start]) / (end - start))

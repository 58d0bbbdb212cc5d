"""Pictures of a study as SVG, the same for the same figures."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from service.errors import UsageError
from training.study.findings import Findings, estimate
from training.study.gather import LABELS, Compared
from training.study.plan import KINDS, NAMES, name_of

COLOURS: Mapping[str, str] = dict(
    zip(NAMES, ("#7f7f7f", "#d62728", "#9467bd", "#ff7f0e", "#1f77b4", "#2ca02c"), strict=True)
)
_LINES = {"islands": "-", "best_of_n": "--", "sequential": ":"}


def check_drawing() -> None:
    """See that pictures can be drawn, before hours of work end in none.

    Raises:
        UsageError: matplotlib is not installed.
    """
    if find_spec("matplotlib") is None:
        raise UsageError(
            "the report of a study needs matplotlib, which the base install leaves out: install"
            " evolve-search[training], or call `evolve study` with --stage sampling or --stage search"
        )


def draw(found: Findings, folder: Path) -> None:
    """Draw `study-KIND.svg` for each kind of maze, and `study-search.svg`."""
    folder.mkdir(parents=True, exist_ok=True)
    pyplot = _pyplot()
    for kind in KINDS:
        panels = [(label, figure) for label in LABELS for figure in ("best", "ew")]
        figure, axes = pyplot.subplots(2, 2, figsize=(10, 7), layout="constrained", sharex=True)
        for panel, (label, name) in zip(axes.flat, panels, strict=True):
            _by_k(panel, found.sampled[kind, label], name, found.scope.ks)
            words = "best@k" if name == "best" else "E_w[max]@k over the optimum's"
            panel.set_title(f"{words}, {label}", fontsize=9)
        _finish(
            pyplot,
            figure,
            axes.flat[0],
            f"{kind} mazes, {found.scope.mazes[kind]} of them",
            folder / f"study-{kind}.svg",
        )
    labels = found.search_labels
    figure, axes = pyplot.subplots(
        1, len(labels), figsize=(5 * len(labels), 4), layout="constrained", sharey=True, squeeze=False
    )
    for panel, label in zip(axes.flat, labels, strict=True):
        _searches(panel, found, label)
        panel.set_title(f"share solved, {label}", fontsize=9)
    title = f"searches on {found.scope.questions} hard mazes: islands -, best_of_n --, sequential ··"
    _finish(pyplot, figure, axes.flat[0], title, folder / "study-search.svg")


def _pyplot() -> Any:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    # Names inside of an SVG are random unless salted.
    mpl.rcParams["svg.hashsalt"] = "evolve"
    return pyplot


def _by_k(panel: Any, compared: Compared, figure: str, ks: Sequence[int]) -> None:
    for method, one in compared.items():
        _line(panel, ks, [estimate(one, f"{figure}@{k}") for k in ks], method, "-", name_of(method))
    panel.set_xlabel("answers k")


def _searches(panel: Any, found: Findings, label: str) -> None:
    budgets = found.scope.budgets
    for strategy in found.scope.strategies:
        for method, one in found.searched[strategy, label].items():
            name = name_of(method) if strategy == "islands" else ""
            values = [estimate(one, f"solved@{budget}") for budget in budgets]
            _line(panel, budgets, values, method, _LINES[strategy], name)
    panel.set_xlabel("evaluations")


def _line(panel: Any, at: Sequence[int], values: Sequence[Any], method: str, style: str, name: str) -> None:
    colour = COLOURS.get(method, "#2ca02c")
    panel.plot(at, [value.value for value in values], style, color=colour, label=name or "_", linewidth=1.4)
    if style == "-":
        panel.fill_between(at, [v.low for v in values], [v.high for v in values], color=colour, alpha=0.15, linewidth=0)
    panel.set_xscale("log", base=2)
    panel.set_xticks(at, [str(k) for k in at])
    panel.grid(alpha=0.3)


def _finish(pyplot: Any, figure: Any, first: Any, title: str, path: Path) -> None:
    if first.get_legend_handles_labels()[1]:
        first.legend(fontsize=8)
    figure.suptitle(title, fontsize=10)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)

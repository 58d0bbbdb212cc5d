"""Charts and tables of a result, by Matplotlib and pandas where they are installed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from service.errors import UsageError

if TYPE_CHECKING:
    from evolve.search.result import Result


def dataframe(result: "Result") -> Any:
    """The candidates as a pandas DataFrame, a row each, with a column for each score, measure and case."""
    try:
        import pandas
    except ModuleNotFoundError:
        raise UsageError(_remedy("to_dataframe()", "pandas")) from None
    rows = [_flat(record) for record in result.candidates]
    return pandas.DataFrame(rows).set_index("candidate_id") if rows else pandas.DataFrame()


def plot_history(result: "Result", axes: Any = None) -> Any:
    """The best so far over the evaluations, with every candidate as a dot."""
    axes = axes if axes is not None else _axes("plot_history()")
    sign, word = _score(result)
    evaluated = [one for one in result.candidates if one["status"] == "evaluated" and one["outcome"] != "cancelled"]
    points = [(at, sign * one["fitness"]) for at, one in enumerate(evaluated, 1) if one["fitness"] is not None]
    if points:
        axes.plot(*zip(*points, strict=True), ".", color="0.6", label="candidates")
    best = [(at, sign * value) for at, value in enumerate(result.history, 1) if value is not None]
    if best:
        axes.step(*zip(*best, strict=True), where="post", label="best so far")
    if result.problem.known_best is not None:
        axes.axhline(result.problem.known_best, linestyle="--", color="0.4", label="best known")
    axes.set(xlabel="evaluations", ylabel=word, title=result.problem.name)
    if axes.get_legend_handles_labels()[0]:
        axes.legend()
    return axes


def plot_scores(result: "Result", x: str | None = None, y: str | None = None, axes: Any = None) -> Any:
    """Two scores of every valid candidate against each other, the front marked.

    Raises:
        UsageError: there are fewer than two scores, or none of that name.
    """
    axes = axes if axes is not None else _axes("plot_scores()")
    valid = [one for one in result.candidates if one["outcome"] == "ok"]
    names = list(dict.fromkeys([*result.problem.objective_names, *(name for one in valid for name in one["scores"])]))
    chosen = _chosen(names, x, y)
    points = [tuple(one["scores"].get(name) for name in chosen) for one in valid]
    axes.plot(*zip(*points, strict=True), ".", color="0.6", label="candidates")
    front = sorted(tuple(one.evaluation.scores[name] for name in chosen) for one in result.front)
    axes.plot(*zip(*front, strict=True), "o-", label="front")
    axes.set(xlabel=chosen[0], ylabel=chosen[1], title=result.problem.name)
    axes.legend()
    return axes


def _chosen(names: Sequence[str], x: str | None, y: str | None) -> tuple[str, str]:
    for name in (x, y):
        if name is not None and name not in names:
            raise UsageError(f"there is no score {name!r}: choose from {', '.join(names)}")
    rest = [name for name in names if name not in (x, y)]
    found = [name or (rest.pop(0) if rest else "") for name in (x, y)]
    if not all(found):
        raise UsageError(f"the candidates have {len(names)} score{'s' if len(names) != 1 else ''}: two are needed")
    return found[0], found[1]


def _score(result: "Result") -> tuple[float, str]:
    """What turns fitness into the score that the objective names, and its name."""
    objectives = result.problem.objectives
    return (objectives[0].sign, objectives[0].name) if len(objectives) == 1 else (1.0, "fitness")


def _axes(what: str) -> Any:
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError:
        raise UsageError(_remedy(what, "matplotlib")) from None
    return pyplot.subplots()[1]


def _remedy(what: str, package: str) -> str:
    return f"{what} needs {package}: pip install {package}, or pip install 'evolve-search[notebook]'"


def _flat(record: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in record.items():
        if key in ("scores", "measures", "cases", "spread"):
            found |= {f"{key}.{name}": number for name, number in value.items()}
        else:
            found[key] = value
    return found

"""The evaluation gate: which version of a policy may take the place of another."""

from collections.abc import Mapping, Sequence
from typing import Any

from evolve.statistics.intervals import Estimate, enough_pairs, mean_over_runs
from service.errors import UsageError
from service.ports import PolicyEvaluation, PolicyVersion


def summarize_evaluation(evaluation: PolicyEvaluation) -> dict[str, Any]:
    """An evaluation with its means, the mean paired difference, and the interval of that difference.

    Raises:
        UsageError: the numbers of problems and values differ, a problem repeats, or there are too few for an interval.
    """
    count = len(evaluation.problems)
    if not count == len(evaluation.values) == len(evaluation.baseline):
        raise UsageError("problems, values and baseline must have the same length: give a value for each problem")
    if len(set(evaluation.problems)) < count:
        raise UsageError("problems names a problem twice: values are paired by problem")
    if not enough_pairs(count):
        raise UsageError(f"{count} problems are too few for an interval: evaluate on at least 6")
    gaps = [own - other for own, other in zip(evaluation.values, evaluation.baseline, strict=True)]
    found = mean_over_runs(gaps)
    assert found is not None
    return {
        "against": evaluation.against,
        "metric": evaluation.metric,
        "problems": list(evaluation.problems),
        "values": list(evaluation.values),
        "baseline": list(evaluation.baseline),
        "mean": sum(evaluation.values) / count,
        "baseline_mean": sum(evaluation.baseline) / count,
        "difference": found.value,
        "low": found.low,
        "high": found.high,
    }


def refusal(found: PolicyVersion, promoted: int | None) -> str:
    """Why a version may not take the place of the promoted one, in a sentence with its figures. Empty: it may.

    The newest evaluation against the promoted version decides. Its whole interval must lie above zero.
    """
    if promoted is None or promoted == found.version:
        return ""
    place = f"{found.policy}@{promoted}"
    evaluation = deciding(found.evaluations, promoted)
    if evaluation is None:
        return f"{found.name} was not evaluated against {place}, which is promoted: evaluate it on held-out problems"
    estimate = Estimate(value=evaluation["difference"], low=evaluation["low"], high=evaluation["high"])
    if estimate.low > 0:
        return ""
    return (
        f"{found.name} was not found better than {place}: its {evaluation['metric']} differs by {estimate.signed} on"
        f" {len(evaluation['problems'])} held-out problems, and the whole interval must lie above 0"
    )


def deciding(evaluations: Sequence[Mapping[str, Any]], promoted: int | None) -> Mapping[str, Any] | None:
    """The newest evaluation against a version. None: there is none."""
    return next((one for one in reversed(evaluations) if one["against"] == promoted), None)

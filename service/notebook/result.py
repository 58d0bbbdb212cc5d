"""Results of `evolve.run`: values, with what else is told of runs that are stored."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from evolve.event_types import ProposalFailed
from evolve.proposal import Individual
from evolve.search.result import Result
from evolve.views.candidate_view import CandidateView
from service.bootstrap.storage import open_reader, open_storage
from service.config import load_settings
from service.errors import ServiceError
from service.notebook.display import result_html
from service.notebook.plots import dataframe, plot_history, plot_scores
from service.ports import LoggedEvent, RunRecord, Storage
from service.projections.run_site import stored_site
from service.timestamps import SystemClock
from service.usecases.plan import RunPlan, record_of

if TYPE_CHECKING:
    from service.schemas.statistics import RunStatistics

_OWNER, _LEASE_SECONDS = "evolve.run", 3600.0


@dataclass(frozen=True, kw_only=True, repr=False)
class RunResult(Result):
    """What became of a run that `evolve.run` made.

    Attributes:
        plan: what the run was to be.
        again: goes on with the run, under a changed budget.
        storage: URL of the database that keeps the run; empty: none does.
    """

    plan: RunPlan
    again: "Callable[[Mapping[str, Any], RunResult], RunResult]" = field(compare=False)
    storage: str = ""

    def extend(self, **budget: Any) -> "RunResult":
        """Go on with the run where it ended, with its archives, islands and random state: `extend(evaluations=200)`.

        The functions that the run was made with are called again, and its seconds are added to. This result stays.

        Args:
            budget: keys of the budget with their new values, None for no limit. None at all, where the run was
                interrupted.

        Raises:
            ConfigurationError: a key is unknown, or the run would end at once.
            ServiceError: the search came to nothing.
        """
        return self.again(budget, self)

    @cached_property
    def failed_proposals(self) -> Mapping[int, str]:
        """Why proposals brought no answer, such as what a policy raised, by their numbers."""
        told = (event.data for event in self.events)
        return {one.proposal_number: one.reason for one in told if isinstance(one, ProposalFailed)}

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of the run; what it is called is the label `name`."""
        return self.plan.labels

    @cached_property
    def views(self) -> Mapping[str, CandidateView]:
        """What candidates look like, by their ids, of those that the evaluator drew; `render` draws the best alone."""
        individuals = (one.subject for one in self.events if isinstance(one.subject, Individual))
        views = ((one.candidate_id, one.evaluation.view) for one in individuals)
        return {id_: view for id_, view in views if view is not None and not view.on_demand}

    @property
    def view(self) -> CandidateView | None:
        """What the best candidate looks like; None: its evaluator drew nothing."""
        return self.views.get(self.best.candidate_id) if self.best else None

    def to_dataframe(self) -> Any:
        """The candidates as a pandas DataFrame: a row each, by id, with a column for each score, as `scores.value`.

        Raises:
            UsageError: pandas is not installed.
        """
        return dataframe(self)

    def plot_history(self, axes: Any = None) -> Any:
        """Draw the best so far over the evaluations with Matplotlib, on axes of yours or new ones; returns the axes.

        Raises:
            UsageError: Matplotlib is not installed.
        """
        return plot_history(self, axes)

    def plot_scores(self, x: str | None = None, y: str | None = None, axes: Any = None) -> Any:
        """Draw two scores of every valid candidate against each other, the front marked; returns the axes.

        Raises:
            UsageError: Matplotlib is not installed, or there are no two scores of these names.
        """
        return plot_scores(self, x, y, axes)

    def _repr_html_(self) -> str:
        return result_html(self, self.view, self.failed_proposals)

    @cached_property
    def statistics(self) -> "RunStatistics":
        """What the run came to, in the numbers of `evolve show RUN --metrics` and of the API; computed when asked for.

        They are those of a stored run: the events are stored for as long as that takes, and read by the same function.
        """
        with ExitStack() as stack:
            folder = stack.enter_context(TemporaryDirectory(prefix="evolve-run-"))
            if self.storage:
                reader = stack.enter_context(open_reader(load_settings(), self.storage))
                return stored_site(reader, self.storage).statistics(reader.run(self.run_id))
            storage = stack.enter_context(open_storage(load_settings(), str(Path(folder) / "run.db")))
            return stored_site(storage.reader, storage.url).statistics(_store(self, storage))


class RunFailedError(ServiceError):
    """The search came to nothing, or ended early for a fault that somebody has to mend.

    Attributes:
        result: what was found by then; `result.extend()` goes on from there.
    """

    def __init__(self, sentence: str, result: RunResult) -> None:
        super().__init__(sentence)
        self.result = result


def told(
    result: Result, plan: RunPlan, again: Callable[[Mapping[str, Any], RunResult], RunResult], storage: str = ""
) -> RunResult:
    """A result with what is told of it by what the run was to be, and with what goes on with it."""
    return RunResult(
        **{entry.name: getattr(result, entry.name) for entry in fields(Result)}, plan=plan, again=again, storage=storage
    )


def _store(result: RunResult, storage: Storage) -> RunRecord:
    now = SystemClock().now()
    plan = replace(result.plan, run_id=result.run_id, config=result.config)
    storage.log.create(record_of(plan, "", now))
    fence = storage.log.take(result.run_id, _OWNER, _LEASE_SECONDS)
    events = enumerate(result.events, start=2)  # after run.created
    logged = [LoggedEvent(run_id=result.run_id, sequence=place, at=now, event=event) for place, event in events]
    storage.log.append(result.run_id, fence, logged)
    return storage.reader.run(result.run_id)

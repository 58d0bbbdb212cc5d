"""The changes that a run makes of itself while it is driven: versions of its insights, and of its policy."""

from collections.abc import Callable, Sequence

from evolve.change_events import ChangeData, InsightsWritten
from evolve.search.dispatcher import Dispatcher
from evolve.search.state import SearchState
from service.runner.insight_writer import InsightWriter
from service.runner.policy_learner import PolicyLearner
from service.runner.run_job import RunJob
from service.runner.storage_retry import StorageRetry


class OwnChanges:
    """Writes insights and has the policy trained, beside the loop.

    Args:
        job: the run.
        state: of its search.
        dispatcher: asks versions of its policy.
        retry: with which storage is asked.
        wake: is called when a change is ready.

    Raises:
        ConfigurationError: the configuration asks for what the job does not have.
    """

    def __init__(
        self,
        job: RunJob,
        state: SearchState,
        dispatcher: Dispatcher,
        *,
        retry: StorageRetry,
        wake: Callable[[], None],
    ) -> None:
        self._insights = InsightWriter(
            job.run_id, job.config, state, facts=job.facts, analyst=job.analyst, retry=retry, wake=wake
        )
        self._learner = PolicyLearner(
            job.run_id,
            job.config,
            job.policies[0].policy.name,
            state=state,
            dispatcher=dispatcher,
            trainer=job.trainer,
            versions=job.versions,
            retry=retry,
            clock=job.clock,
            wake=wake,
        )

    @property
    def waiting(self) -> str:
        """Why a run in a fixed order cannot go on; empty: it can."""
        return self._learner.waiting

    async def reopen(self) -> None:
        """Open what earlier sittings had made.

        Raises:
            NotFoundError, StorageError, UsageError: a version of the policy is not there any more.
        """
        await self._learner.reopen()

    def turn(self, *, written: int, committed: int) -> Sequence[ChangeData]:
        """The changes that are ready; begins those that are due.

        Args:
            written: sequence of the run's last event.
            committed: sequence of the last event that storage has.
        """
        insights = self._insights.turn(committed=written == committed)
        found = (insights, self._learner.turn(written=written, committed=committed))
        return [change for change in found if change is not None]

    async def cancel(self, *, ended: bool = False) -> tuple[InsightsWritten, ...]:
        """End what is under way; the insights that are to be logged where the run ends.

        Args:
            ended: whether the run needs no further versions of its policy.
        """
        await self._learner.cancel(ended=ended)
        return await self._insights.cancel()

"""The state of a run as the fold of its events; the search decides on it, a restart replays into it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from evolve.archives import Insertion, Status
from evolve.budget import Account, extended
from evolve.change_events import CHANGE_KINDS, BanLifted, CandidateBanned, ChangeData, SettingsChanged
from evolve.configuration import RunConfig
from evolve.credit.bandit import GainScale, gain
from evolve.credit.operators import REPAIR, Trials
from evolve.credit.yields import EXHAUSTED, UNSUCCESSFUL, PolicyYields
from evolve.errors import ConfigurationError, ReplayError
from evolve.evaluation import Outcome
from evolve.event_types import (
    BestImproved,
    BudgetExtended,
    CandidateCreated,
    CandidateDuplicate,
    CandidateEvaluated,
    CandidateRejected,
    IndividualInserted,
    IndividualsRemoved,
    IslandReset,
    ProposalAnswered,
    ProposalCreated,
    ProposalFailed,
    RunContinued,
)
from evolve.events import Event, EventKind, Subject
from evolve.extensions import Extensions
from evolve.lineage import Lineage
from evolve.payloads import CROSSOVER, bills
from evolve.problem import Problem
from evolve.proposal import Candidate, Individual, Proposal
from evolve.search.bans import Bans
from evolve.search.changes import Changes
from evolve.search.form_credit import FormRecords
from evolve.search.insights import PURPOSE
from evolve.search.islands import Island
from evolve.search.open_proposal import OpenProposal
from evolve.search.priorities import prioritized
from evolve.search.prompt_pool import PromptPool
from evolve.search.run_settings import follows_trials, weights_of, with_settings
from evolve.search.shutdown import ENDED
from evolve.search.strategies import island_count
from evolve.search.tuning import TuningSessions
from evolve.search.unloaded import is_unloaded, loaded_twin, unloaded_candidate, unloaded_individual


class SearchState:
    """Everything a search knows of its run.

    Attributes:
        config: that of the run, with the settings that were changed since.
        policy_weights: weights of policies that were changed, by name.
        budget: that of the configuration, with what was extended since.
        asked, open: number of the latest proposal; proposals by number that await their policy.
        pending: candidates by id that await their evaluation.
        seen: fingerprint of every candidate -> id of the first that had it.
        seeds, starts: seeds that were evaluated with success, and those of them that are not banned.
        latest: what was evaluated last, failed or not.
        latest_unbanned: of that what is not banned; where a person banned it, a member of an archive.
        improvements, lineage: evaluations and fitness at each new best; how each candidate that was evaluated stands.
        trials: proposals whose success will say how their operators and policies do, where that is asked.
        gain_scale, forms: what a gain on an island is measured by; what each reply form has brought the policies.
        reached: whether one individual has reached the target of every objective that has one.
        yields, tuning, prompts: what the answers of policies became, what tuners found out, which prompts compete.
    """

    def __init__(self, problem: Problem, config: RunConfig, extensions: Extensions | None = None) -> None:
        self.problem = problem
        self.lineage = Lineage()
        self.islands = [
            Island(number, problem, config.on_island(number), self.lineage, extensions)
            for number in range(island_count(config))
        ]
        self.trials = Trials()
        self.gain_scale = GainScale()
        self.forms = FormRecords()
        self.account = Account()
        self.yields = PolicyYields()
        self.policy_weights: dict[str, float] = {}
        self.tuning, self.prompts = TuningSessions(), PromptPool(config.prompt_pool)
        self.budget = config.budget
        self.asked, self.reached = 0, False
        self.open: dict[int, OpenProposal] = {}
        self.pending: dict[str, Candidate] = {}
        self.seen: dict[str, str] = {}
        self.seeds, self.starts = list[Individual](), list[Individual]()
        self.latest: Individual | None = None
        self.latest_unbanned: Individual | None = None
        self.best: Individual | None = None
        self.improvements: list[tuple[int, float]] = []
        self.changes, self.bans = Changes(config.insights, config.learning), Bans()
        self.configure(config)
        self._targets = [objective for objective in problem.objectives if objective.target is not None]

    def apply(self, event: Event) -> None:
        """Fold one event.

        Raises:
            ReplayError: the event does not follow from those before it.
        """
        try:
            if step := _STEPS.get(event.kind):
                step(self, event.data, event.subject)
            self.tuning.fold(event.data, self.find)
            self.prompts.fold(event.data)
        except (KeyError, IndexError) as error:
            raise ReplayError(
                f"the event {event.kind} refers to {error}, which the events before it do not know"
            ) from error
        except ConfigurationError as error:
            raise ReplayError(f"the event {event.kind} cannot be: {error}") from error

    def offer(self, individual: Individual, island: int) -> IndividualInserted:
        """What the archive of an island decides about an individual; nothing changes."""
        insertion = self.islands[island].archive.offer(individual)
        return IndividualInserted(
            candidate_id=individual.candidate_id,
            island=island,
            status=str(insertion.status),
            displaced=insertion.displaced,
        )

    def find(self, candidate_id: str) -> Individual:
        """An individual that the state holds."""
        for individual in self._loose():
            if individual.candidate_id == candidate_id:
                return individual
        for island in self.islands:
            if candidate_id in island.archive.members:
                return island.archive.members.get(candidate_id)
        return self.changes.priorities.find(candidate_id)

    @property
    def started(self) -> bool:
        """Whether the seeds were proposed."""
        return bool(self.seen)

    @property
    def outstanding(self) -> int:
        """Answers that were asked for and have not come."""
        return sum(entry.outstanding for entry in self.open.values())

    def outstanding_of_others(self, policies: Collection[str]) -> int:
        """Answers asked for and not yet come, of policies that are not among these."""
        return sum(entry.outstanding for entry in self.open.values() if entry.created.policy not in policies)

    def unloaded(self, needed: Callable[[Individual], bool], *, of_open: bool = True) -> list[str]:
        """Ids of individuals to load: of members, those needed; of open proposals all, as a replay rebuilds them."""
        wanted = {i.candidate_id: None for i in self._loose() if is_unloaded(i)}
        wanted |= {one.candidate_id: None for island in self.islands for one in island.archive.members if needed(one)}
        wanted |= dict.fromkeys(self.changes.priorities.standing if of_open else ())
        for entry in self.open.values() if of_open else ():
            wanted |= dict.fromkeys([*dict(entry.created.parents), *entry.created.failures])
        return list(wanted)

    def fill(self, loaded: Iterable[Individual], candidates: Iterable[Candidate]) -> dict[str, Individual]:
        """Put programs and texts in the place of what a replay left out; all that was loaded, by id."""
        known = {individual.candidate_id: individual for individual in loaded}
        self.pending |= {
            one.id: replace(one, early_stop_threshold=self.pending[one.id].early_stop_threshold) for one in candidates
        }
        self.trials.fill(lambda origin: loaded_twin(known, origin))
        self.tuning.fill(lambda tuned: loaded_twin(known, tuned))
        for island in self.islands:
            for member in [one for one in island.archive.members if one.candidate_id in known]:
                island.archive.members.replace(loaded_twin(known, member))
            island.fill(lambda failure: loaded_twin(known, failure))
        self.bans.fill(lambda member: loaded_twin(known, member))
        self.changes.priorities.fill(lambda member: loaded_twin(known, member))
        self.seeds[:] = [loaded_twin(known, seed) for seed in self.seeds]
        self._find_starts()
        self.latest = self.latest and loaded_twin(known, self.latest)
        self.latest_unbanned = self.latest_unbanned and loaded_twin(known, self.latest_unbanned)
        self.best = self.best and loaded_twin(known, self.best)
        return known

    def _loose(self) -> Iterator[Individual]:
        yield from (one for one in (self.latest, self.latest_unbanned, self.best) if one is not None)
        yield from self.seeds
        yield from (removed.individual for removed in self.bans.removed.values())
        yield from self.tuning.individuals()
        yield from (trial.origin for trial in self.trials.open.values() if trial.origin is not None)
        for island in self.islands:
            yield from island.failures
            for broken in island.repairable:
                yield from (one for one in (broken.failure, broken.origin) if one is not None)

    def _extended(self, data: BudgetExtended, _: Subject | None) -> None:
        self.budget, self.changes.budget[data.key] = extended(self.budget, data.key, data.to), data.to

    def _changed(self, data: ChangeData, subject: Subject | None) -> None:
        self.changes.make(data, lambda name: prioritized(name, self.lineage, self.find, subject))
        if isinstance(data, SettingsChanged):
            self.configure(with_settings(self.config, data.settings))
            self.policy_weights |= weights_of(data.settings)
        if not isinstance(data, CandidateBanned | BanLifted):
            return
        self.bans.make(data, self.lineage)
        self.changes.priorities.forget(self.bans)
        for island in self.islands:
            island.forget(self.bans)
        self._find_starts()
        if self.latest_unbanned is not None and self.latest_unbanned.candidate_id in self.bans:
            members = [member for island in self.islands for member in island.archive.members.best(len(self.lineage))]
            others = (one for one in (*members, *self.starts) if one.candidate_id not in self.bans)
            self.latest_unbanned = next(others, self.latest_unbanned)

    def configure(self, config: RunConfig) -> None:
        """Let a configuration hold from now on."""
        self.config = config
        for island in self.islands:
            island.configure(config.on_island(island.number))
        self._tried = follows_trials(config)

    def _find_starts(self) -> None:
        self.starts[:] = [seed for seed in self.seeds if seed.candidate_id not in self.bans]

    def _continued(self, data: RunContinued, _: Subject | None) -> None:
        """What ended the run is mended, as far as anybody knows: it counts no longer."""
        if data.after in {EXHAUSTED, *UNSUCCESSFUL}:
            self.account.barren = 0
            self.yields.renew()
            self.yields.policies.clear()

    def _proposed(self, data: ProposalCreated, subject: Subject | None) -> None:
        number = data.proposal_number
        if number != self.asked + 1:
            raise ReplayError(f"proposal {number} follows proposal {self.asked}")
        self.asked = number
        self.open[number] = OpenProposal(created=data, proposal=subject if isinstance(subject, Proposal) else None)
        self.lineage.propose(number, data.parents[0][0], *(one for one, role in data.parents if role == CROSSOVER))
        if data.change:  # a person's program says nothing of policies, islands and operators
            self.changes.manual.add(number)
        if data.change or data.writes:
            return
        self.islands[data.island].arm.visits += 1
        self.trials.policy_credit.ask(data.policy)
        if data.form:
            self.forms.begin(number, data.policy, data.form)
        if self._tried:
            self._try(data)
        self.changes.use(data)

    def _try(self, data: ProposalCreated) -> None:
        kin = [(self.find(candidate), role) for candidate, role in data.parents]
        self.trials.begin(data.proposal_number, data.operator, data.policy, data.weights, kin)
        if data.operator == REPAIR:
            self.islands[data.island].repaired(data.parents[0][0])

    def _created(self, data: CandidateCreated, subject: Subject | None) -> None:
        number = data.proposal_number
        candidate = subject if isinstance(subject, Candidate) else unloaded_candidate(data)
        self.pending[candidate.id] = candidate
        self.seen.setdefault(candidate.fingerprint, candidate.id)
        self.lineage.await_score(number)
        if number:
            entry = self.open[number]
            entry.taken.add(data.position)
            entry.fresh += 1
            entry.recovered.update(data.recovered)
            self.trials.await_children(number, 1)
            self.forms.create(number)
            if number not in self.changes.manual:
                self.yields.create(entry.created.policy)
            self.account.answers += 1

    def _rejected(self, data: CandidateRejected, _: Subject | None) -> None:
        entry = self.open[data.proposal_number]
        entry.taken.add(data.position)
        self.yields.reject(entry.created.policy, data.reason)
        self.account.answers += 1

    def _duplicated(self, data: CandidateDuplicate, _: Subject | None) -> None:
        number = self.pending.pop(data.candidate_id).proposal_number
        self.lineage.settle(number)
        if number:
            self.open[number].fresh -= 1
            if number not in self.changes.manual:
                self.yields.repeat(self.open[number].created.policy)
            self.trials.await_children(number, -1)
            self.forms.evaluate(number, valid=False)

    def _answered(self, data: ProposalAnswered, _: Subject | None) -> None:
        entry = self.open.pop(data.proposal_number)
        self.lineage.settle(data.proposal_number)
        if entry.created.change:
            return
        spent = self._spend(data)
        if entry.created.writes:
            return
        self.changes.learning.answer(data.proposal_number)
        self.trials.policy_credit.pay(entry.created.policy, spent.tokens, spent.money, len(entry.taken))
        self.yields.complete(entry.created.policy, data.drops, data.dropped, len(entry.taken))
        self._close(entry)
        self.trials.close(data.proposal_number)
        self.forms.close(data.proposal_number, entry.created.limit, data.tokens)

    def _failed(self, data: ProposalFailed, _: Subject | None) -> None:
        entry = self.open.pop(data.proposal_number)
        spent = self._spend(data)
        if data.away or entry.created.writes:
            self.trials.forget(data.proposal_number)
        else:
            if data.reason != ENDED:
                written = bool(entry.taken or spent.tokens)
                self.yields.refuse(entry.created.policy, data.reason, written=written)
            self._close(entry)
            self.trials.close(data.proposal_number)
        self.forms.close(data.proposal_number, entry.created.limit, data.tokens)
        self.lineage.settle(data.proposal_number)

    def _close(self, entry: OpenProposal) -> None:
        """A proposal has brought all that it will bring."""
        self.account.barren = 0 if entry.fresh else self.account.barren + 1
        if entry.fresh:
            self.yields.renew()

    def _spend(self, data: ProposalAnswered | ProposalFailed) -> Account:
        """Count what was paid with a proposal; what it took itself."""
        spent, owed = Account(), self.changes.insights.owed
        for bill in bills(data):
            self.account.spend(bill.usage, bill.cost)
            if not (owed and bill.purpose == PURPOSE):
                spent.spend(bill.usage, bill.cost)
        if data.tokens is not None:
            self.changes.insights.owed = ()
        return spent

    def _evaluated(self, data: CandidateEvaluated, subject: Subject | None) -> None:
        candidate = self.pending.pop(data.candidate_id)
        # One that was cancelled says nothing against the form in which it was asked for.
        self.forms.evaluate(candidate.proposal_number, valid=data.outcome in {Outcome.OK, Outcome.CANCELLED})
        if data.outcome == Outcome.CANCELLED:
            self.trials.tell(candidate.proposal_number, None)
            self.lineage.settle(candidate.proposal_number)
            return
        scored = subject.without_view() if isinstance(subject, Individual) else None
        individual = scored or unloaded_individual(self.problem, candidate, data)
        banned = self.bans.bear(candidate.id, self.lineage.parents_of(candidate.proposal_number))
        credited = None if banned else individual.fitness
        self.lineage.evaluate(candidate.id, candidate.proposal_number, credited, individual.rewards)
        self.lineage.settle(candidate.proposal_number)
        origin = self.trials.tell(candidate.proposal_number, individual)
        if candidate.proposal_number and candidate.proposal_number not in self.changes.manual:
            self.yields.children[data.outcome] += 1
            island = self.islands[candidate.island]
            best = self.best.fitness if self.best else None
            island.arm.learn(self.gain_scale.share(gain(individual.fitness, island.best, best)))
        self.account.evaluations += 1
        self.account.since_best += 1
        self.islands[candidate.island].count(individual, origin, self.bans)
        self.latest = individual
        self.latest_unbanned = self.latest_unbanned if banned else individual
        if individual.fitness is not None and self._targets:
            scores = individual.evaluation.scores
            self.reached |= all(objective.reached(scores[objective.name]) for objective in self._targets)
        if candidate.proposal_number == 0 and individual.fitness is not None:
            self.seeds.append(individual)
            self.starts.append(individual)

    def _inserted(self, data: IndividualInserted, _: Subject | None) -> None:
        insertion = Insertion(status=Status(data.status), displaced=data.displaced)
        self.islands[data.island].insert(self.find(data.candidate_id), insertion)
        self.bans.offered(data.candidate_id, data.island)

    def _removed(self, data: IndividualsRemoved, _: Subject | None) -> None:
        for member in self.islands[data.island].remove(data.candidate_ids):
            self.bans.remove(member, data.island)

    def _improved(self, data: BestImproved, _: Subject | None) -> None:
        self.best = self.find(data.candidate_id)
        self.improvements.append((self.account.evaluations, data.fitness))
        self.account.since_best = 0

    def _reset(self, data: IslandReset, _: Subject | None) -> None:
        self.islands[data.island].clear()


# Each step takes the data of its kind; a test holds their annotations to the kinds.
_STEPS: Mapping[EventKind, Callable[[SearchState, Any, Subject | None], None]] = {
    EventKind.BUDGET_EXTENDED: SearchState._extended,  # noqa: SLF001 - the table of this class's own steps
    **dict.fromkeys(CHANGE_KINDS, SearchState._changed),  # noqa: SLF001
    EventKind.RUN_CONTINUED: SearchState._continued,  # noqa: SLF001
    EventKind.PROPOSAL_CREATED: SearchState._proposed,  # noqa: SLF001
    EventKind.PROPOSAL_ANSWERED: SearchState._answered,  # noqa: SLF001
    EventKind.PROPOSAL_FAILED: SearchState._failed,  # noqa: SLF001
    EventKind.CANDIDATE_CREATED: SearchState._created,  # noqa: SLF001
    EventKind.CANDIDATE_REJECTED: SearchState._rejected,  # noqa: SLF001
    EventKind.CANDIDATE_DUPLICATE: SearchState._duplicated,  # noqa: SLF001
    EventKind.CANDIDATE_EVALUATED: SearchState._evaluated,  # noqa: SLF001
    EventKind.INDIVIDUAL_INSERTED: SearchState._inserted,  # noqa: SLF001
    EventKind.INDIVIDUALS_REMOVED: SearchState._removed,  # noqa: SLF001
    EventKind.BEST_IMPROVED: SearchState._improved,  # noqa: SLF001
    EventKind.ISLAND_RESET: SearchState._reset,  # noqa: SLF001
}

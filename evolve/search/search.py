"""The search: `ask` for proposals, `tell` what came of them; every decision is an event."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from evolve import payloads
from evolve.budget import check_money, ended_by, extended, plain
from evolve.change_events import InsightsWritten, RequestedChange
from evolve.configuration import BudgetConfig, RunConfig
from evolve.errors import AnswerError, ProgramError
from evolve.evaluation import Evaluation, Outcome
from evolve.event_types import BestImproved, BudgetExtended, IslandMigrated, IslandReset
from evolve.events import Event
from evolve.extensions import Extensions
from evolve.identity import candidate_id
from evolve.problem import Problem
from evolve.proposal import Answer, Candidate, CompletedReply, Individual, Proposal
from evolve.search.candidate_filter import AnswerFilter
from evolve.search.candidate_maker import CandidateMaker, admit
from evolve.search.ensemble import Ensemble, PolicyRequest
from evolve.search.event_recorder import EventRecorder, compare_decision
from evolve.search.insights import first_insights
from evolve.search.islands import Island
from evolve.search.members_on_demand import every_member, members_to_load
from evolve.search.migration import migrants, survivor, targets
from evolve.search.prompt_pool import written_prompt
from evolve.search.proposer import Proposer
from evolve.search.requested_changes import check_change, make_change, refusal
from evolve.search.scoring import CandidateScorer
from evolve.search.shutdown import NOTHING_CUT, let_go
from evolve.search.state import SearchState
from evolve.search.stopping import STOPPING_RULE, answer_limit, open_stopping_rule
from evolve.search.strategies import open_strategy
from evolve.similarity.changed_parts import changed_parts

AT_ONCE = ("target", "patience", "wall_seconds", STOPPING_RULE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchStep:
    """What follows from a call.

    Attributes:
        events: to be logged, in this order, all or none.
        candidates: to be evaluated now.
        proposals: to be put to the policy now.
    """

    events: tuple[Event, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    proposals: tuple[Proposal, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumedWork:
    """What a replayed run still owes: proposals to put to the policy again, candidates to evaluate."""

    proposals: tuple[Proposal, ...]
    candidates: tuple[Candidate, ...]


class Search:
    """One search on one problem with one configuration and seed.

    Call `start` once and evaluate the seeds; then `ask` while it returns proposals, and hand back every answer
    (`answer`), the end of every completion (`complete` or `fail`) and every evaluation (`tell`), in any order.
    Random streams derive from the run's seed and the proposal's number: with the same order of completion a search
    repeats exactly, and a replayed one goes on exactly as the unbroken one would have.

    Where an extension raises `ExtensionError` in a call, the search is of no further use: no event of that call may be
    logged, and a replay of those before it goes on from there.

    Args:
        asked: how each of its policies is asked.
        extensions: resolves the names of its configuration.

    Attributes:
        answer_filter: is handed the embeddings of programs, where they are compared by them.

    Raises:
        ConfigurationError: its policies do not go together, its budget cannot be held, or an extension is missing.
        ExtensionError: an extension cannot be loaded or made.
    """

    def __init__(
        self,
        run_id: str,
        problem: Problem,
        config: RunConfig,
        *asked: PolicyRequest,
        extensions: Extensions | None = None,
    ) -> None:
        self.run_id, self.problem = run_id, problem
        extensions = extensions or Extensions()
        self.state = SearchState(problem, config, extensions)
        self._ensemble = Ensemble(
            asked, config, self.state.trials.policy_credit, self.state.policy_weights, self.state.changes.learning
        )
        check_money(config.budget, self._ensemble.currency)
        strategy = open_strategy(problem, config, self.state.starts, self.state.trials.credit, extensions)
        self._proposer = Proposer(run_id, config, self.state, strategy)
        self._stops = open_stopping_rule(config, extensions)
        self._scorer = CandidateScorer(problem, config)
        self._maker = CandidateMaker(run_id, problem, self.state, self._scorer)
        self.answer_filter = AnswerFilter(problem, self.state)

    def start(self) -> SearchStep:
        """Propose the seeds, those of an earlier run with their parents among them."""
        events, origins = EventRecorder(self.state), self.problem.origins
        candidates: list[Candidate] = []
        for written in first_insights(self.run_id, self.state.config.insights.text):
            events.add(written)
        for position, program in enumerate(self.problem.seeds):
            places = origins[position].parents if position in origins else ()
            parents = tuple(
                (candidate_id(self.run_id, 0, place), payloads.CROSSOVER if number else payloads.PARENT)
                for number, place in enumerate(places)
            )
            made = self._maker.make(0, position, 0, program, parents)
            before = self.problem.seeds[places[0]] if places else None
            changed = changed_parts(before, program, self.problem.repository) if before else ""
            candidate = replace(made, changed=changed)
            candidates += admit(self.state, candidate, events)
        return SearchStep(events=events.taken(), candidates=tuple(candidates))

    def ask(
        self, elapsed_seconds: float = 0.0, *, away: Collection[str] = (), busy: Collection[str] = ()
    ) -> SearchStep:
        """The next proposal; none while the seeds are not scored, when the budget is given out or the run has ended.

        Args:
            elapsed_seconds: time at work.
            away: policies that are not drawn.
            busy: policies that have no room: where one of these is drawn, there is no proposal yet.
        """
        drawn = self._ensemble.draw(number := self.state.asked + 1, away, self.state.account.since_best)
        if drawn is None or drawn.policy_request.policy in busy or self._seeding or self.state.latest is None:
            return SearchStep()
        limit = partial(answer_limit, self.state, away)
        if limit(1) < 1 or self._over(elapsed_seconds):
            return SearchStep()
        proposal = self._proposer.propose(number, drawn, limit)
        if proposal is None:
            return SearchStep()
        event = Event(payloads.describe_proposal(proposal), proposal)
        self.state.apply(event)
        return SearchStep(events=(event,), proposals=(proposal,))

    def answer(self, number: int, answer: Answer) -> SearchStep:
        """Take one answer: a child to evaluate, a duplicate, or a rejected one with its reason.

        One that was not asked for, or was taken before, changes nothing.
        """
        entry = self.state.open.get(number)
        if entry is None or entry.proposal is None or not entry.outstanding or entry.created.writes:
            return SearchStep()
        proposal = entry.proposal
        position = proposal.position(answer)
        if position is None or position in entry.taken:
            return SearchStep()
        events = EventRecorder(self.state)
        parents = payloads.edges(proposal, answer.shown)
        try:
            child = self.answer_filter.child(proposal, answer)
            made = self._maker.make(number, position, proposal.island, child.program, parents)
            changed = changed_parts(proposal.parent.program, child.program, self.problem.repository)
            candidate = replace(made, recovered=child.recovered, changed=changed)
            self.answer_filter.refuse_near(candidate)
        except (AnswerError, ProgramError) as error:
            events.add(payloads.describe_rejection(self.run_id, proposal, position, parents, str(error)))
            return SearchStep(events=events.taken())
        admitted = admit(self.state, candidate, events)
        return SearchStep(events=events.taken(), candidates=admitted)

    def complete(self, number: int, completed: CompletedReply) -> SearchStep:
        """Close a proposal whose policy has written its last word."""
        entry = self.state.open.get(number)
        if entry is None:
            return SearchStep()
        events = EventRecorder(self.state)
        completed = self.state.changes.insights.bill(completed)
        written, completed = written_prompt(entry.proposal, completed)
        if written is not None:
            events.add(written)
        events.add(payloads.describe_completion(number, len(entry.taken), completed, entry.recovered), completed)
        return SearchStep(events=events.taken())

    def fail(self, number: int, reason: str, cut: CompletedReply | None = None) -> SearchStep:
        """Close a proposal that will have no further answer.

        Args:
            number: of the proposal.
            reason: why.
            cut: what was written of it, and what that took.
        """
        return self._fail(number, reason, cut)

    def forgo(self, number: int, reason: str, cut: CompletedReply | None = None) -> SearchStep:
        """Close a proposal whose policy cannot be asked at present, while others can; it says nothing of the search."""
        return self._fail(number, reason, cut, away=True)

    def _fail(self, number: int, reason: str, cut: CompletedReply | None, *, away: bool = False) -> SearchStep:
        if number not in self.state.open:
            return SearchStep()
        events = EventRecorder(self.state)
        paid = cut and self.state.changes.insights.bill(cut)
        events.add(payloads.describe_failure(number, reason, paid, away=away), paid)
        return SearchStep(events=events.taken())

    def tell(self, candidate: str, evaluation: Evaluation) -> SearchStep:
        """Take a candidate's evaluation: into the archives with it, and on with migration."""
        waiting = self.state.pending.get(candidate)
        if waiting is None:
            return SearchStep()
        individual = self._scorer.individual(waiting, evaluation)
        events = EventRecorder(self.state)
        events.add(payloads.describe_outcome(individual), individual)
        if individual.fitness is not None:
            homes = range(len(self.state.islands)) if waiting.proposal_number == 0 else [waiting.island]
            for island in homes if candidate not in self.state.bans else ():
                self._insert(individual, island, events)
            self._improve(individual, individual.fitness, events)
        if evaluation.outcome is not Outcome.CANCELLED and waiting.proposal_number:
            self._migrate(self.state.islands[waiting.island], events)
            self._reset(self.state.islands[waiting.island], events)
        return SearchStep(events=events.taken())

    def extended(self, key: str, value: object) -> BudgetConfig:
        """The budget with another value of a key.

        Raises:
            ConfigurationError: there is no such key, or it cannot have this value.
        """
        budget = extended(self.state.budget, key, value)
        check_money(budget, self._ensemble.currency)
        return budget

    def extend(self, key: str, value: object, by: str = "") -> SearchStep:
        """Give a key of the budget another value, larger or smaller; None: no limit.

        What is in flight comes home all the same: a limit below what is used and in flight is passed by that much.

        Raises:
            ConfigurationError: there is no such key, or it cannot have this value.
        """
        budget = self.extended(key, value)
        events = EventRecorder(self.state)
        before, after = plain(getattr(self.state.budget, key)), plain(getattr(budget, key))
        events.add(BudgetExtended(key=key, from_=before, to=after, by=by))
        return SearchStep(events=events.taken())

    def check_change(self, change: RequestedChange) -> None:
        """Check a change that a person asked for; nothing is made of it. One that was made already can be.

        Raises:
            ConfigurationError: it cannot be made.
        """
        if change.data.change_id not in self.state.changes.made:
            check_change(change, self.state, self._ensemble.weights)

    def change(self, change: RequestedChange) -> SearchStep:
        """Make a change that a person asked for; asked for again, it counts once.

        Raises:
            ConfigurationError: it cannot be made.
        """
        self.check_change(change)
        events = EventRecorder(self.state)
        if change.data.change_id in self.state.changes.made:
            return SearchStep()
        inserted = make_change(change, self._maker, self.state, events)
        return SearchStep(events=events.taken(), candidates=inserted)

    def refuse(self, change: RequestedChange, reason: str) -> SearchStep:
        """Log that a change cannot be made; one that was made or refused already leaves no second event."""
        if change.data.change_id in self.state.changes.made:
            return SearchStep()
        events = EventRecorder(self.state)
        events.add(refusal(change, reason))
        return SearchStep(events=events.taken())

    def ended(self, elapsed_seconds: float = 0.0) -> str | None:
        """Why the run is over: a budget key, `target`, `exhausted`, `stopping_rule`, or a failure; None: go on.

        The failures are `error` (no seed could be scored) and `policy_refused`, `no_usable_answers`, `no_new_programs`
        and `no_valid_children`, which `explain` explains.
        Where nothing new may be asked for, what is in flight comes home first; target, patience and time end at once.
        """
        reason = self._over(elapsed_seconds)
        in_flight = self.state.open or self.state.pending
        if reason is None or (reason not in AT_ONCE and in_flight):
            return None
        return reason if reason == "target" else self.state.yields.judged(reason)

    def explain(self, reason: str, denied: str = "") -> str:
        """One sentence on an end that is a failure of the policies or of all children, with the cure; else empty.

        Args:
            reason: of the end.
            denied: why the policies could not be asked at last; empty: they could.
        """
        last = self.state.latest
        return self.state.yields.detail(reason, last.evaluation.reason if last else "", denied)

    def close(
        self, cut: Mapping[int, CompletedReply] = NOTHING_CUT, insights: Iterable[InsightsWritten] = ()
    ) -> SearchStep:
        """Let go of everything in flight, because the run has ended.

        Args:
            cut: what the policy had written by then of proposals that await it, and what that took, by number.
            insights: the version that was under way, with what the analyst took; one of the proposals pays it.
        """
        events = EventRecorder(self.state)
        for written in insights:
            events.add(written)
        for event in let_go(self.state.open, self.state.pending.values(), cut, self.state.changes.insights.owed):
            events.take(event)
        return SearchStep(events=events.taken())

    def replay(
        self,
        events: Iterable[Event],
        individuals: Callable[[Sequence[str]], Iterable[Individual]],
        candidates: Callable[[Sequence[str]], Iterable[Candidate]],
        *,
        on_demand: bool = False,
    ) -> ResumedWork:
        """Fold the events of an earlier run of this search, then load only the programs that are still alive.

        Args:
            individuals, candidates: bring what storage holds of the ids asked for.
            on_demand: leave out members of archives, as far as no decision needs them in memory.

        Raises:
            ReplayError: the events are not those of a search like this one.
        """
        for event in events:
            compare_decision(self.state, event)
            self.state.apply(event)
        pending = sorted(self.state.pending.values(), key=lambda one: (one.proposal_number, one.position))
        several = any(forms > 1 for forms in self._ensemble.forms.values())
        needed = members_to_load(self.state, sizes=several) if on_demand else every_member
        owed = candidates([candidate.id for candidate in pending])
        loaded = self.state.fill(individuals(self.state.unloaded(needed)), owed)
        for entry in self.state.open.values():
            entry.proposal = self._proposer.rebuild(entry.created, loaded)
        proposals = tuple(entry.proposal for entry in self.state.open.values() if entry.proposal)
        return ResumedWork(proposals=proposals, candidates=tuple(self.state.pending[one.id] for one in pending))

    def _over(self, elapsed_seconds: float) -> str | None:
        if self._seeding:
            return None
        if not self.state.seeds:
            return "error"
        if self.state.reached:
            return "target"
        best = self.state.best.fitness if self.state.best else None
        limit = ended_by(self.state.budget, self.state.account, best, elapsed_seconds)
        limit = limit or self._stops(self.state, elapsed_seconds)
        return limit or self.state.yields.failed(self._ensemble.forms)

    @property
    def _seeding(self) -> bool:
        # Seeds are the first candidates of a run, and a dict keeps its order: the first that is pending tells.
        first = next(iter(self.state.pending.values()), None)
        return not self.state.started or (first is not None and first.proposal_number == 0)

    def _insert(self, individual: Individual, island: int, events: EventRecorder) -> None:
        events.add(self.state.offer(individual, island))

    def _improve(self, individual: Individual, fitness: float, events: EventRecorder) -> None:
        best = self.state.best
        if best is None or best.fitness is None or fitness > best.fitness:
            events.add(BestImproved(candidate_id=individual.candidate_id, fitness=fitness, objective=None))

    def _migrate(self, island: Island, events: EventRecorder) -> None:
        if island.evaluated % self.state.config.migration_interval:
            return
        for target in targets(island, len(self.state.islands), self.state.config):
            there = self.state.islands[target].archive.members
            chosen = migrants(island.archive.members, there, self.state.config)
            leaving = [migrant for migrant in chosen if migrant.candidate_id not in there]
            if leaving:
                ids = tuple(migrant.candidate_id for migrant in leaving)
                events.add(IslandMigrated(from_=island.number, to=target, candidate_ids=ids))
            for migrant in leaving:
                self._insert(migrant, target, events)

    def _reset(self, island: Island, events: EventRecorder) -> None:
        after = self.state.config.reset_after
        if not after or island.since_best < after:
            return
        founder = survivor(island, [other for other in self.state.islands if other is not island], self.state.config)
        if founder is None:
            return
        displaced = tuple(member.candidate_id for member in island.archive.members)
        events.add(IslandReset(island=island.number, survivor=founder.candidate_id, displaced=displaced))
        self._insert(founder, island.number, events)

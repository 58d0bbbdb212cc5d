"""The state of a run as the fold of its events; the search decides on it, a restart replays into it."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from evolve.archives import Insertion
from evolve.budget import Account, extended
from evolve.configuration import BASELINES, RunConfig
from evolve.credit.bandit import GainScale, gain
from evolve.credit.operators import REPAIR, Trials
from evolve.credit.yields import EXHAUSTED, UNSUCCESSFUL, PolicyYields
from evolve.errors import ConfigurationError, ReplayError
from evolve.evaluation import Evaluation, Outcome, reward_vector, signed_scores
from evolve.events import Event, EventKind
from evolve.extensions import Extensions
from evolve.lineage import Lineage
from evolve.payloads import bills
from evolve.problem import Problem
from evolve.program import Program
from evolve.proposal import Candidate, Individual, Proposal
from evolve.reply_form import ReplyForm
from evolve.search.form_credit import FormRecords
from evolve.search.islands import Island
from evolve.search.shutdown import ENDED
from evolve.search.strategies import island_count

# Stands for a program whose text a replay has not loaded: most candidates of a run are never looked at again.
UNLOADED = Program.of({"unloaded": ""})


@dataclass(slots=True, kw_only=True)
class OpenProposal:
    """A proposal that awaits its policy.

    Attributes:
        proposal: None while a replay has not rebuilt it.
        taken: positions whose answers were taken.
        fresh: answers that became candidates to evaluate.
        recovered: how many answers made a program though they were not written as asked, by kind.
    """

    payload: Mapping[str, Any]
    proposal: Proposal | None = None
    taken: set[int] = field(default_factory=set)
    fresh: int = 0
    recovered: Counter[str] = field(default_factory=Counter)

    @property
    def outstanding(self) -> int:
        """Answers it may still bring."""
        return max(0, int(self.payload["limit"]) - len(self.taken))


class SearchState:
    """Everything a search knows of its run.

    Attributes:
        budget: that of the configuration, with what was extended since.
        asked: number of the latest proposal.
        open: proposals by number that await their policy.
        pending: candidates by id that await their evaluation.
        seen: fingerprint of every candidate -> id of the first that had it.
        seeds: seeds that were evaluated with success.
        latest: what was evaluated last, failed or not.
        improvements: evaluations and fitness at each time that the best improved.
        lineage: how each candidate that was evaluated stands.
        trials: proposals whose success will say how their operators and policies do, where that is asked.
        gain_scale: what a gain on an island is measured by.
        forms: what each reply form has brought the policies that are asked in several.
        reached: whether one individual has reached the target of every objective that has one.
        yields: what the answers of each policy became.
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
        self.budget = config.budget
        self.asked = 0
        self.open: dict[int, OpenProposal] = {}
        self.pending: dict[str, Candidate] = {}
        self.seen: dict[str, str] = {}
        self.seeds: list[Individual] = []
        self.latest: Individual | None = None
        self.best: Individual | None = None
        self.improvements: list[tuple[int, float]] = []
        self.reached = False
        # The success of proposals is asked for by adaptive choices, and the origin of a failure by its repair.
        self._tried = config.policy_choice == "adaptive" or (
            config.strategy not in BASELINES
            and (
                config.operator_choice == "adaptive"
                or any(island.config.operators.get(REPAIR) for island in self.islands)
            )
        )
        self._targets = [objective for objective in problem.objectives if objective.target is not None]

    def apply(self, event: Event) -> None:
        """Fold one event.

        Raises:
            ReplayError: the event does not follow from those before it.
        """
        step = _STEPS.get(event.kind)
        if step is None:
            return
        try:
            step(self, event)
        except (KeyError, IndexError) as error:
            raise ReplayError(
                f"the event {event.kind} refers to {error}, which the events before it do not know"
            ) from error
        except ConfigurationError as error:
            raise ReplayError(f"the event {event.kind} cannot be: {error}") from error

    def insert(self, individual: Individual, island: int) -> Insertion:
        """Offer an individual to an island's archive."""
        insertion = self.islands[island].archive.add(individual)
        if insertion.kept and individual.fitness is not None:
            self.islands[island].credit(individual.fitness)
        return insertion

    def find(self, candidate_id: str) -> Individual:
        """An individual that the state holds."""
        for individual in self._loose():
            if individual.candidate_id == candidate_id:
                return individual
        for island in self.islands:
            if candidate_id in island.archive.members:
                return island.archive.members.get(candidate_id)
        raise KeyError(candidate_id)

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
        return sum(entry.outstanding for entry in self.open.values() if entry.payload["policy"] not in policies)

    def unloaded(self) -> list[str]:
        """Ids of the individuals whose programs and texts a replay must still bring."""
        wanted = {i.candidate_id: None for i in self._loose()}
        wanted |= {member.candidate_id: None for island in self.islands for member in island.archive.members}
        for entry in self.open.values():
            wanted |= dict.fromkeys([*_edges(entry.payload), *entry.payload["failures"]])
        return list(wanted)

    def fill(self, loaded: Iterable[Individual], candidates: Iterable[Candidate]) -> dict[str, Individual]:
        """Put programs and texts in the place of what a replay left out; all that was loaded, by id."""
        known = {individual.candidate_id: individual for individual in loaded}
        self.pending |= {
            one.id: replace(one, early_stop_threshold=self.pending[one.id].early_stop_threshold) for one in candidates
        }
        self.trials.fill(lambda origin: _same(known, origin))
        for island in self.islands:
            for member in list(island.archive.members):
                island.archive.members.replace(_same(known, member))
            island.fill(lambda failure: _same(known, failure))
        self.seeds[:] = [_same(known, seed) for seed in self.seeds]
        self.latest = self.latest and _same(known, self.latest)
        self.best = self.best and _same(known, self.best)
        return known

    def _loose(self) -> Iterator[Individual]:
        if self.latest is not None:
            yield self.latest
        if self.best is not None:
            yield self.best
        yield from self.seeds
        yield from (trial.origin for trial in self.trials.open.values() if trial.origin is not None)
        for island in self.islands:
            yield from island.failures
            for broken in island.repairable:
                yield from (one for one in (broken.failure, broken.origin) if one is not None)

    def _extended(self, event: Event) -> None:
        self.budget = extended(self.budget, event.payload["key"], event.payload["to"])

    def _continued(self, event: Event) -> None:
        """What ended the run is mended, as far as anybody knows: it counts no longer."""
        if event.payload["after"] in {EXHAUSTED, *UNSUCCESSFUL}:
            self.account.barren = 0
            self.yields.renew()
            self.yields.policies.clear()

    def _proposed(self, event: Event) -> None:
        number = int(event.payload["number"])
        if number != self.asked + 1:
            raise ReplayError(f"proposal {number} follows proposal {self.asked}")
        self.asked = number
        self.islands[int(event.payload["island"])].arm.visits += 1
        self.trials.policy_credit.ask(event.payload["policy"])
        subject = event.subject if isinstance(event.subject, Proposal) else None
        self.open[number] = OpenProposal(payload=event.payload, proposal=subject)
        self.lineage.propose(number, _edges(event.payload)[0])
        if form := event.payload.get("form"):
            self.forms.begin(number, event.payload["policy"], ReplyForm.read(form))
        if self._tried:
            self._try(event.payload)

    def _try(self, payload: Mapping[str, Any]) -> None:
        operator, (parent, *_) = payload["operator"], payload["parents"]
        kin = [(self.find(candidate), role) for candidate, role in payload["parents"]]
        self.trials.begin(payload["number"], operator, payload["policy"], payload["weights"], kin)
        if operator == REPAIR:
            self.islands[int(payload["island"])].repaired(parent[0])

    def _created(self, event: Event) -> None:
        payload = event.payload
        number, position = int(payload["number"]), int(payload["position"])
        candidate = event.subject if isinstance(event.subject, Candidate) else _unloaded(payload)
        self.pending[candidate.id] = candidate
        self.seen.setdefault(candidate.fingerprint, candidate.id)
        self.lineage.await_score(number)
        if number:
            self.open[number].taken.add(position)
            self.open[number].fresh += 1
            self.open[number].recovered.update(payload.get("recovered", ()))
            self.trials.await_children(number, 1)
            self.forms.create(number)
            self.yields.of(self.open[number].payload["policy"]).create()
            self.account.answers += 1

    def _rejected(self, event: Event) -> None:
        entry = self.open[int(event.payload["number"])]
        entry.taken.add(int(event.payload["position"]))
        self.yields.reject(entry.payload["policy"], event.payload["reason"])
        self.account.answers += 1

    def _duplicated(self, event: Event) -> None:
        number = self.pending.pop(event.payload["candidate_id"]).number
        self.lineage.settle(number)
        if number:
            self.open[number].fresh -= 1
            self.yields.repeat(self.open[number].payload["policy"])
            self.trials.await_children(number, -1)
            self.forms.evaluate(number, valid=False)

    def _answered(self, event: Event) -> None:
        entry = self.open.pop(int(event.payload["number"]))
        spent = self._spend(event.payload)
        cost = None if spent.money is None else str(spent.money)
        self.trials.policy_credit.pay(entry.payload["policy"], spent.tokens, cost)
        dropped, answers = int(event.payload.get("dropped", 0)), len(entry.taken)
        self.yields.complete(entry.payload["policy"], event.payload.get("drops", {}), dropped, answers)
        self._close(entry)
        self.trials.close(int(event.payload["number"]))
        self.forms.close(int(event.payload["number"]), int(entry.payload["limit"]), event.payload["tokens"])
        self.lineage.settle(int(event.payload["number"]))

    def _failed(self, event: Event) -> None:
        entry = self.open.pop(int(event.payload["number"]))
        spent = self._spend(event.payload)
        if event.payload.get("away"):
            self.trials.forget(int(event.payload["number"]))
        else:
            if event.payload["reason"] != ENDED:
                written = bool(entry.taken or spent.tokens)
                self.yields.of(entry.payload["policy"]).refuse(event.payload["reason"], written=written)
            self._close(entry)
            self.trials.close(int(event.payload["number"]))
        self.forms.close(int(event.payload["number"]), int(entry.payload["limit"]), event.payload.get("tokens"))
        self.lineage.settle(int(event.payload["number"]))

    def _close(self, entry: OpenProposal) -> None:
        """A proposal has brought all that it will bring."""
        self.account.barren = 0 if entry.fresh else self.account.barren + 1
        if entry.fresh:
            self.yields.renew()

    def _spend(self, payload: Mapping[str, Any]) -> Account:
        """Count what a proposal took, all that was paid for it; that alone."""
        spent = Account()
        for bill in bills(payload):
            for account in (self.account, spent):
                account.spend(bill["tokens"], bill.get("cost"))
        return spent

    def _evaluated(self, event: Event) -> None:
        payload = event.payload
        candidate = self.pending.pop(payload["candidate_id"])
        subject = event.subject if isinstance(event.subject, Individual) else None
        # One that was cancelled says nothing against the form in which it was asked for.
        self.forms.evaluate(candidate.number, valid=payload["outcome"] in {Outcome.OK, Outcome.CANCELLED})
        if payload["outcome"] == Outcome.CANCELLED:
            self.trials.tell(candidate.number, None)
            self.lineage.settle(candidate.number)
            return
        individual = subject or self._scored(candidate, payload)
        self.lineage.evaluate(candidate.id, candidate.number, individual.fitness, individual.rewards)
        self.lineage.settle(candidate.number)
        origin = self.trials.tell(candidate.number, individual)
        if candidate.number:
            self.yields.children[str(payload["outcome"])] += 1
            island = self.islands[candidate.island]
            best = self.best.fitness if self.best else None
            island.arm.learn(self.gain_scale.share(gain(individual.fitness, island.best, best)))
        self.account.evaluations += 1
        self.account.since_best += 1
        self.islands[candidate.island].count(individual, origin)
        self.latest = individual
        if individual.fitness is not None and self._targets:
            scores = individual.evaluation.scores
            self.reached |= all(objective.reached(scores[objective.name]) for objective in self._targets)
        if candidate.number == 0 and individual.fitness is not None:
            self.seeds.append(individual)

    def _scored(self, candidate: Candidate, payload: Mapping[str, Any]) -> Individual:
        evaluation = Evaluation(outcome=Outcome(payload["outcome"]), scores=payload["scores"])
        worth = payload["fitness"]
        return Individual(
            candidate_id=candidate.id,
            program=candidate.program,
            evaluation=evaluation,
            fitness=worth,
            rewards=() if worth is None else reward_vector(self.problem, evaluation),
            signed_scores=() if worth is None else signed_scores(self.problem.objectives, evaluation.scores, worth),
            measures=payload["measures"],
        )

    def _inserted(self, event: Event) -> None:
        individual = self.find(event.payload["candidate_id"])
        insertion = self.insert(individual, int(event.payload["island"]))
        if str(insertion.status) != event.payload["status"]:
            raise ReplayError(
                f"candidate {individual.candidate_id} was {event.payload['status']}, on replay {insertion.status}:"
                " the run was made by another version or its problem has changed"
            )

    def _improved(self, event: Event) -> None:
        self.best = self.find(event.payload["candidate_id"])
        self.improvements.append((self.account.evaluations, event.payload["fitness"]))
        self.account.since_best = 0

    def _reset(self, event: Event) -> None:
        self.islands[int(event.payload["island"])].clear()


def _same(known: Mapping[str, Individual], stub: Individual) -> Individual:
    """The loaded twin of a replayed individual; its measures and fitness stay those of the event."""
    loaded = known.get(stub.candidate_id)
    return replace(stub, program=loaded.program, evaluation=loaded.evaluation) if loaded else stub


def _unloaded(payload: Mapping[str, Any]) -> Candidate:
    return Candidate(
        id=payload["candidate_id"],
        number=int(payload["number"]),
        position=int(payload["position"]),
        island=int(payload["island"]),
        program=UNLOADED,
        fingerprint=payload["fingerprint"],
        early_stop_threshold=payload.get("early_stop_threshold"),
    )


def _edges(payload: Mapping[str, Any]) -> list[str]:
    return [candidate_id for candidate_id, _ in payload["parents"]]


_STEPS = {
    EventKind.BUDGET_EXTENDED: SearchState._extended,  # noqa: SLF001 - the table of this class's own steps
    EventKind.RUN_CONTINUED: SearchState._continued,  # noqa: SLF001
    EventKind.PROPOSAL_CREATED: SearchState._proposed,  # noqa: SLF001
    EventKind.PROPOSAL_ANSWERED: SearchState._answered,  # noqa: SLF001
    EventKind.PROPOSAL_FAILED: SearchState._failed,  # noqa: SLF001
    EventKind.CANDIDATE_CREATED: SearchState._created,  # noqa: SLF001
    EventKind.CANDIDATE_REJECTED: SearchState._rejected,  # noqa: SLF001
    EventKind.CANDIDATE_DUPLICATE: SearchState._duplicated,  # noqa: SLF001
    EventKind.CANDIDATE_EVALUATED: SearchState._evaluated,  # noqa: SLF001
    EventKind.INDIVIDUAL_INSERTED: SearchState._inserted,  # noqa: SLF001
    EventKind.BEST_IMPROVED: SearchState._improved,  # noqa: SLF001
    EventKind.ISLAND_RESET: SearchState._reset,  # noqa: SLF001
}

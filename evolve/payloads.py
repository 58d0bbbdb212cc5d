"""Payloads of the events that a search writes, and the way back: ids and small numbers only."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evolve.credit.yields import grouped_drops
from evolve.identity import candidate_id
from evolve.money import Money
from evolve.proposal import Candidate, Charge, CompletedReply, Individual, Proposal, Usage
from evolve.reply_form import ReplyForm

PARENT, CROSSOVER, INSPIRATION = "parent", "crossover", "inspiration"


def edges(proposal: Proposal, shown: Sequence[str] | None = None) -> tuple[tuple[str, str], ...]:
    """(candidate id, role) of those a child of this proposal descends from, the parent first.

    Args:
        shown: the candidates that the policy was shown; None: all of the proposal's.
    """
    others = [(proposal.second_parent, CROSSOVER)] if proposal.second_parent is not None else []
    others += [(inspiration, INSPIRATION) for inspiration in proposal.inspirations]
    seen = [(one.candidate_id, role) for one, role in others if shown is None or one.candidate_id in shown]
    return ((proposal.parent.candidate_id, PARENT), *seen)


def describe_proposal(proposal: Proposal) -> dict[str, Any]:
    """Payload of `proposal.created`: enough to put the proposal again."""
    return {
        "number": proposal.number,
        "proposal_id": proposal.id,
        "island": proposal.island,
        "operator": proposal.operator,
        "probability": proposal.probability,
        "selection": proposal.selection,
        "weights": list(proposal.weights),
        "rationale": dict(proposal.rationale),
        "parents": [list(edge) for edge in edges(proposal)],
        "failures": [failure.candidate_id for failure in proposal.failures],
        "rejections": [list(rejection) for rejection in proposal.rejections],
        "policy": proposal.policy,
        "seed": proposal.seed,
        "answers": proposal.answers,
        "samples": proposal.samples,
        "limit": proposal.limit,
        **({} if proposal.form is None else {"form": proposal.form.as_json()}),
    }


def rebuild_proposal(payload: Mapping[str, Any], loaded: Mapping[str, Individual]) -> Proposal:
    """The proposal of a payload.

    Args:
        loaded: the individuals that the payload names, by id.
    """
    parent, *others = ((loaded[candidate], role) for candidate, role in payload["parents"])
    return Proposal(
        id=payload["proposal_id"],
        number=payload["number"],
        island=payload["island"],
        operator=payload["operator"],
        probability=payload.get("probability", 1.0),  # of a run from before there were several operators
        parent=parent[0],
        second_parent=next((one for one, role in others if role == CROSSOVER), None),
        inspirations=tuple(one for one, role in others if role == INSPIRATION),
        failures=tuple(loaded[candidate] for candidate in payload["failures"]),
        rejections=tuple((reason, count) for reason, count in payload.get("rejections", ())),
        selection=payload["selection"],
        weights=tuple(payload["weights"]),
        rationale=payload.get("rationale", {}),
        policy=payload["policy"],
        seed=payload["seed"],
        answers=payload["answers"],
        samples=payload["samples"],
        limit=payload["limit"],
        form=ReplyForm.read(payload["form"]) if "form" in payload else None,
    )


def describe_outcome(individual: Individual) -> dict[str, Any]:
    """Payload of `candidate.evaluated`."""
    evaluation = individual.evaluation
    return {
        "candidate_id": individual.candidate_id,
        "outcome": str(evaluation.outcome),
        "fitness": individual.fitness,
        "scores": dict(evaluation.scores),
        "measures": dict(individual.measures),
        "seconds": evaluation.seconds,
        "attempt": 1,
    }


def describe_candidate(candidate: Candidate) -> dict[str, Any]:
    """Payload of `candidate.created`."""
    return {
        "candidate_id": candidate.id,
        "number": candidate.number,
        "position": candidate.position,
        "island": candidate.island,
        "program_id": candidate.program.id,
        "fingerprint": candidate.fingerprint,
        **({} if candidate.early_stop_threshold is None else {"early_stop_threshold": candidate.early_stop_threshold}),
        **({"recovered": list(candidate.recovered)} if candidate.recovered else {}),
    }


def describe_rejection(
    run_id: str, proposal: Proposal, position: int, parents: Sequence[tuple[str, str]], reason: str
) -> dict[str, Any]:
    """Payload of `candidate.rejected`."""
    return {
        "candidate_id": candidate_id(run_id, proposal.number, position),
        "number": proposal.number,
        "position": position,
        "island": proposal.island,
        "parents": [list(edge) for edge in parents],
        "reason": reason,
    }


def describe_completion(
    number: int, answers: int, completed: CompletedReply, recovered: Mapping[str, int]
) -> dict[str, Any]:
    """Payload of `proposal.answered`.

    Args:
        number: of the proposal.
        answers: how many were taken.
        completed: the last word of its policy.
        recovered: how many of the answers made a program though they were not written as asked, by kind.
    """
    kinds = {**completed.recovered, **recovered}
    return {
        "number": number,
        "answers": answers,
        "dropped": len(completed.dropped),
        **({"recovered": kinds} if kinds else {}),
        "drops": grouped_drops(completed.dropped),
        **_spent(completed),
        "seconds": completed.seconds,
    }


def describe_failure(number: int, reason: str, cut: CompletedReply | None = None) -> dict[str, Any]:
    """Payload of `proposal.failed`; of a completion that was cut off, with what it had taken by then."""
    return {"number": number, "reason": reason, **(_spent(cut) if cut is not None else {})}


def _spent(completed: CompletedReply) -> dict[str, Any]:
    charges = describe_charges(completed.charges)
    return {**_bill(completed.usage, completed.cost), **({"charges": charges} if charges else {})}


def describe_charges(charges: Iterable[Charge]) -> list[dict[str, Any]]:
    """What was paid beside a completion, as events and rows tell it."""
    return [
        {"policy": one.policy, "purpose": one.purpose, **_bill(one.usage, one.cost), "seconds": one.seconds}
        for one in charges
    ]


def _bill(usage: Usage, cost: Money | None) -> dict[str, Any]:
    tokens = {"input": usage.input, "cached": usage.cached, "output": usage.output}
    tokens |= {"reasoning": usage.reasoning} if usage.reasoning else {}
    return {"tokens": tokens, "cost": None if cost is None else str(cost)}


def bills(payload: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What was paid for a proposal by its last event: its completion, then each charge; `tokens` and `cost` of each.

    Empty where nothing was written.
    """
    return [payload, *payload.get("charges", ())] if "tokens" in payload else []

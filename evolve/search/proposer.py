"""Proposer: what the next proposal of a search starts from, in which form it is asked, and for how many answers."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from evolve.configuration import RunConfig
from evolve.credit.operators import REPAIR, WRITE_PROMPT
from evolve.event_types import ProposalCreated
from evolve.identity import proposal_id
from evolve.payloads import rebuild_proposal
from evolve.proposal import Individual, PromptTrial, Proposal
from evolve.reply_form import ReplyForm
from evolve.search.ensemble import DrawnPolicy, PolicyRequest
from evolve.search.form_credit import program_tokens
from evolve.search.state import SearchState
from evolve.search.strategies import ProposalPlan, Strategy, prioritize


class Proposer:
    """Makes proposals of what a run knows; it changes nothing.

    Args:
        run_id: the ids of proposals derive from it.
        config: of the run.
        state: of the search.
        strategy: decides on parents.
    """

    def __init__(self, run_id: str, config: RunConfig, state: SearchState, strategy: Strategy) -> None:
        self._run_id = run_id
        self._config = config
        self._state = state
        self._strategy = strategy

    def propose(self, number: int, drawn: DrawnPolicy, limit_of: Callable[[int], int]) -> Proposal | None:
        """The proposal of a number, once the seeds are scored; None while there is no room for it.

        Args:
            number: of the proposal; its random stream derives from it.
            drawn: the policy that it is put to.
            limit_of: how many answers it may bring, of as many as it would ask for.
        """
        policy_request, latest = drawn.policy_request, self._state.latest_unbanned
        assert latest is not None
        rng = np.random.default_rng([self._config.seed, number])
        plan, session = self._strategy.plan(number, self._state.islands, latest, rng), 0
        if policy_request.tunes:
            members = self._state.islands[plan.island].archive.members
            plan, session = self._state.tuning.plan(plan, members, number, self._state.bans)
        if policy_request.writes_prompts and self._state.prompts.due():
            return self._writing(number, policy_request.policy, plan, limit_of, int(rng.integers(2**31)))
        priority = None if policy_request.tunes or plan.operator == REPAIR else self._state.changes.priorities.first
        if priority is not None:
            plan = prioritize(plan, priority.individual)
        form, form_rationale = self._form(number, policy_request, plan.parent)
        maximum = (form.answers, form.samples) if form else self._own(policy_request)
        limit = limit_of(math.prod(maximum))
        if limit < 1:
            return None
        answers = min(maximum[0], limit)
        hint, insights = self._state.changes.hints.of(plan.island), self._state.changes.insights.standing
        prompt, prompt_rationale = self._prompt(policy_request)
        rationale = {"policy": drawn.rationale, "form": form_rationale, "prompt": prompt_rationale}
        seed = int(rng.integers(2**31))
        return Proposal(
            id=proposal_id(self._run_id, number),
            number=number,
            island=plan.island,
            operator=plan.operator,
            probability=plan.probability,
            parent=plan.parent,
            second_parent=plan.second_parent,
            inspirations=plan.inspirations,
            failures=plan.failures,
            selection=plan.selection,
            weights=plan.weights,
            rationale={**plan.rationale, **{name: told for name, told in rationale.items() if told}},
            policy=policy_request.policy,
            seed=seed,
            answers=answers,
            samples=min(maximum[1], math.ceil(limit / answers)),
            limit=min(limit, maximum[1] * answers),
            form=form,
            request=self._request(plan.island, plan.operator),
            rejections=self._rejections(policy_request.policy, plan.island),
            hint=hint.text if hint else "",
            hint_id=hint.change_id if hint else "",
            insights=insights.text if insights else "",
            insights_id=insights.change_id if insights else "",
            priority_id=priority.change.change_id if priority else "",
            tuning=self._state.tuning.record(session, seed, plan.parent) if session else None,
            prompt=prompt,
        )

    def rebuild(self, created: ProposalCreated, loaded: Mapping[str, Individual]) -> Proposal:
        """The proposal of an event, as `rebuild_proposal` makes it, with what its event names by ids."""
        proposal = rebuild_proposal(created, loaded)
        changes, session = self._state.changes, created.tuning
        return replace(
            proposal,
            request=self._request(proposal.island, proposal.operator),
            hint=changes.hints.given[created.hint].text if created.hint else "",
            insights=changes.insights.versions[created.insights].text if created.insights else "",
            tuning=self._state.tuning.record(session, created.seed, proposal.parent) if session else None,
            prompt=None if created.prompt is None else self._state.prompts.prompts[created.prompt].trial,
            prompt_trials=self._state.prompts.task(created.proposal_number),
        )

    def _prompt(self, policy_request: PolicyRequest) -> tuple[PromptTrial | None, Mapping[str, float | None]]:
        """The prompt of the pool for a proposal, and why; None: the pool is off."""
        if not policy_request.writes_prompts or not self._state.prompts.on:
            return None, {}
        prompt, rationale = self._state.prompts.draw()
        return prompt.trial, rationale

    def _writing(
        self, number: int, policy: str, plan: ProposalPlan, limit_of: Callable[[int], int], seed: int
    ) -> Proposal | None:
        """A proposal that writes a prompt."""
        if limit_of(1) < 1:
            return None
        return Proposal(
            id=proposal_id(self._run_id, number),
            number=number,
            island=plan.island,
            operator=WRITE_PROMPT,
            parent=plan.parent,
            policy=policy,
            seed=seed,
            form=ReplyForm(format="single", edits="rewrite", answers=1, samples=1),
            prompt_trials=self._state.prompts.ranked(),
        )

    def _request(self, island: int, operator: str) -> str:
        """What an operator of the configuration asks for; strategies may have further ones, which ask for nothing."""
        place = self._state.islands[island]
        return place.operator(operator).request if operator in place.config.operators else ""

    def _form(
        self, number: int, policy_request: PolicyRequest, parent: Individual
    ) -> tuple[ReplyForm | None, dict[str, Any]]:
        """The form in which a policy is asked for children of a parent, and why; None where it has one of its own."""
        if not policy_request.forms:
            return None, {}
        size = program_tokens(parent.program.size)
        form, rationale = self._state.forms.draw(
            policy_request.policy, policy_request.forms, size, (self._config.seed, number)
        )
        return form, {"name": form.name, **rationale} if rationale else {}

    def _own(self, policy_request: PolicyRequest) -> tuple[int, int]:
        return self._config.answers or policy_request.answers, self._config.samples or policy_request.samples

    def _rejections(self, policy: str, island: int) -> tuple[tuple[str, int], ...]:
        maximum = self._state.islands[island].config.prompt.rejections
        return self._state.yields.of(policy).rejections(maximum)

"""The prompt pool: prompts compete for proposals, a model writes further ones, and all follows from the events."""

import re
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import TypeVar

import pytest

from evolve.configuration import BudgetConfig, PromptConfig, RunConfig
from evolve.errors import ConfigurationError
from evolve.event_types import CandidateEvaluated, EventData, ProposalAnswered, ProposalCreated
from evolve.events import Event
from evolve.policy_events import PromptWritten
from evolve.prompt import PromptRequest, build_prompt, build_writing_prompt, read_written
from evolve.proposal import CompletedReply, PromptTrial, Proposal, RejectedText, Usage
from evolve.search.ensemble import PolicyRequest
from evolve.search.prompt_pool import INTERVAL, NO_PROMPT, PromptPool
from evolve.search.search import Search, SearchStep
from tests.fakes.world import World, new_search, resume, toy_problem

Data = TypeVar("Data", bound=EventData)
CONFIG = RunConfig(budget=BudgetConfig(evaluations=90), prompt_pool=3)
ASKING = PolicyRequest(policy="model", answers=2, writes_prompts=True)
WRITTEN = "<problem>\nFind the best x. It is small.\n</problem>\n<request>\nMove far, number {number}.\n</request>"


class Writing(World):
    """A world whose policy writes a prompt where it is asked for one."""

    def _reply(self, search: Search, proposal: Proposal) -> SearchStep:  # type: ignore[override]
        if not proposal.prompt_trials:
            return super()._reply(search, proposal)
        text = WRITTEN.format(number=proposal.number)
        return search.complete(proposal.number, CompletedReply(completions=(text,), usage=Usage(input=10, output=5)))


def played(config: RunConfig = CONFIG) -> tuple[Writing, Search]:
    world = Writing(toy_problem())
    search = new_search(world.problem, config, (ASKING,))
    assert isinstance(search, Search)
    assert world.play(search, search.start()) == "evaluations"
    return world, search


def of(log: Sequence[Event], kind: type[Data]) -> list[Data]:
    return [event.data for event in log if isinstance(event.data, kind)]


def test_a_prompt_is_written_after_an_interval_and_drawn_after_that() -> None:
    world, search = played()
    written = of(world.log, PromptWritten)
    assert len(written) > 1
    assert written[0].parent == 0
    assert "far" in written[0].request
    created = of(world.log, ProposalCreated)
    writing = [data.proposal_number for data in created if data.writes]
    assert [data.proposal_number for data in written] == writing
    assert writing[0] == INTERVAL + 1
    assert {data.prompt for data in created if not data.writes} >= {0, writing[0]}
    assert all(data.operator == "write_prompt" for data in created if data.writes)
    assert len([one for one in search.state.prompts.prompts.values() if not one.retired]) == 3


def test_a_prompt_that_is_written_makes_no_candidate_and_says_nothing_of_the_policy() -> None:
    world, search = played()
    writing = {data.proposal_number for data in of(world.log, ProposalCreated) if data.writes}
    numbers = {candidate.proposal_number for candidate in world.candidates.values()}
    assert not writing & numbers
    visits = search.state.trials.policy_credit.of("model").gains.visits
    assert visits == search.state.asked - len(writing)
    assert search.state.account.tokens == 15 * search.state.asked


def test_a_reply_without_a_prompt_says_so_in_its_completion_and_nothing_of_the_policy() -> None:
    class Silent(Writing):
        def _reply(self, search: Search, proposal: Proposal) -> SearchStep:  # type: ignore[override]
            if not proposal.prompt_trials:
                return super()._reply(search, proposal)
            dropped = (RejectedText(chain=0, reason="no fenced block"),)
            return search.complete(proposal.number, CompletedReply(completions=("I cannot.",), dropped=dropped))

    world = Silent(toy_problem())
    search = new_search(world.problem, CONFIG, (ASKING,))
    assert isinstance(search, Search)
    assert world.play(search, search.start()) == "evaluations"
    writing = {data.proposal_number for data in of(world.log, ProposalCreated) if data.writes}
    answered = [data for data in of(world.log, ProposalAnswered) if data.proposal_number in writing]
    assert len(answered) > 1
    assert {(data.dropped, *data.drops.items()) for data in answered} == {(1, (NO_PROMPT, 1))}
    assert NO_PROMPT not in search.state.yields.of("model").latest
    assert not of(world.log, PromptWritten)


def test_a_replay_passes_equal_pools_and_puts_an_open_proposal_again_with_its_prompt() -> None:
    world, search = played()
    asked = {event.subject.number: event.subject for event in world.log if isinstance(event.subject, Proposal)}
    seen = {"prompt": 0, "writing": 0}
    for boundary in world.boundaries[::6]:
        again = new_search(world.problem, CONFIG, (ASKING,))
        for proposal in resume(world, again, world.log[:boundary]).proposals:
            before = asked[proposal.number]
            assert proposal.prompt_trials == before.prompt_trials
            texts = [(one.number, one.problem, one.request) for one in (proposal.prompt, before.prompt) if one]
            assert len(set(texts)) == (1 if before.prompt else 0)
            seen["writing"] += bool(proposal.prompt_trials)
            seen["prompt"] += bool(proposal.prompt and proposal.prompt.number)
    assert all(seen.values())
    pool = PromptPool(CONFIG.prompt_pool)
    for event in world.log:
        pool.fold(event.data)
    assert pool.ranked() == search.state.prompts.ranked()


def test_a_cancelled_evaluation_says_nothing_against_its_prompt() -> None:
    world, _ = played()
    pool, checked = PromptPool(CONFIG.prompt_pool), 0
    for event in world.log:
        data = event.data
        if isinstance(data, CandidateEvaluated) and checked < 3 and len(pool.prompts) > 1:
            before = pool.ranked(), [copy(one.arm) for one in pool.prompts.values()]
            pool.fold(replace(data, outcome="cancelled", fitness=None))
            assert (pool.ranked(), [one.arm for one in pool.prompts.values()]) == before
            checked += 1
        else:
            pool.fold(data)
    assert checked == 3


def test_the_pool_is_off_without_its_key_and_for_policies_that_read_no_prompts() -> None:
    world, _ = played(replace(CONFIG, prompt_pool=0))
    assert all(data.prompt is None for data in of(world.log, ProposalCreated))
    search = new_search(world.problem, CONFIG, (replace(ASKING, writes_prompts=False),))
    other = World(world.problem)
    other.play(search, search.start())
    assert all(data.prompt is None for data in of(other.log, ProposalCreated))
    with pytest.raises(ConfigurationError, match="prompt_pool"):
        RunConfig(prompt_pool=17)


def test_a_prompt_of_the_pool_has_its_texts_in_the_prompt_and_is_shown_with_its_trials_to_the_writer() -> None:
    world, _ = played()
    proposal = next(event.subject for event in world.log if isinstance(event.subject, Proposal))
    trial = PromptTrial(number=7, problem="Another problem.", request="Try cubes.", proposals=4, gain=0.25)
    request = PromptRequest(problem=world.problem, proposal=replace(proposal, prompt=trial), config=PromptConfig())
    text = build_prompt(request, len).messages[-1].content
    assert "Another problem." in text
    assert re.search(r"Try cubes\.\n\nWrite 2 genuinely different programs\.", text)
    writing = PromptRequest(problem=world.problem, proposal=replace(proposal, prompt_trials=(trial,)))
    asked = build_writing_prompt(writing, len).messages[-1].content
    assert "prompt 7 (problem and request): 4 proposals, mean gain 0.2500" in asked
    assert "Another problem." in asked


@pytest.mark.parametrize(
    ("completion", "found"),
    [
        (WRITTEN.format(number=1), ("Find the best x. It is small.", "Move far, number 1.")),
        ("<think>no</think><request>Go.</request>", ("", "Go.")),
        ("I would ask for more.", ("", "")),
    ],
)
def test_what_a_model_wrote_is_read(completion: str, found: tuple[str, str]) -> None:
    assert read_written(completion) == found

"""What a reply is begun with: lines of the parent, from the first on, never all of them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.answers.continuation import MAX_SHARE, first_lines
from evolve.answers.edit import apply_answer
from evolve.evaluation import Evaluation, Outcome
from evolve.program import Program
from evolve.prompt import PromptRequest, build_prompt
from evolve.proposal import Individual, Proposal
from tests.fakes.world import toy_problem

PROGRAM = "LOW = 1\n\n\ndef f(x):\n    y = x\n    y += LOW\n    y *= 2\n    y -= 3\n    return y\n"
SEEDS = range(40)


@given(text=st.text(st.sampled_from("ab \n`"), max_size=80), seed=st.integers(0, 2**31), python=st.booleans())
def test_a_beginning_is_a_beginning_and_ends_in_no_blank(text: str, seed: int, python: bool) -> None:
    begun = first_lines(text, "python" if python else "c", seed)
    assert text.startswith(begun)
    assert begun == begun.rstrip()
    assert begun == first_lines(text, "python" if python else "c", seed)
    assert begun.count("\n") < max(1, text.count("\n"))


def test_where_it_ends_is_drawn_behind_the_first_definition_and_before_the_last_lines() -> None:
    ends = {first_lines(PROGRAM, "python", seed).count("\n") + 1 for seed in SEEDS}
    assert min(ends) == 5  # the line behind the definition
    assert max(ends) == round(MAX_SHARE * (PROGRAM.count("\n") + 1))
    assert len(ends) > 1


@pytest.mark.parametrize("seed", SEEDS)
def test_the_parents_rest_makes_the_parent_again_and_another_rest_a_child(seed: int) -> None:
    problem = toy_problem()
    evaluation = Evaluation(outcome=Outcome.OK, scores={})
    program = Program.of({"program.py": PROGRAM})
    parent = Individual(candidate_id="cnd_1", program=program, evaluation=evaluation, measures={})
    proposal = Proposal(
        id="prp_1", number=1, island=0, operator="mutate", parent=parent, seed=seed, answers=1, samples=1, limit=1
    )
    request = PromptRequest(problem=problem, proposal=proposal, format="single", edits="continue")
    prompt = build_prompt(request, len)
    assert [message.role for message in prompt.messages] == ["system", "user", "assistant"]
    begun = re.sub(r"^```python\n", "", prompt.beginning)
    assert begun != prompt.beginning
    assert PROGRAM.startswith(begun)
    child = apply_answer(parent.program, f"{prompt.beginning}\n    return 7\n```", "continue", "python")
    assert child.program.text == f"{begun}\n    return 7\n"

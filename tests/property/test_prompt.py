import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evolve.answers.markup import Fence, fence
from evolve.errors import PolicyRefused
from evolve.evaluation import Evaluation, Outcome
from evolve.problem import EvaluatorSpec, Objective, Problem
from evolve.program import Program
from evolve.prompt import PromptRequest, build_prompt
from evolve.prompt.text import fenced, inert, shown
from evolve.proposal import Individual, Prompt, Proposal

PIECES = [
    "```", "````", "~~~", "`", "\n", "```python\n", "\n```\n", "</answer_1>", "<answer_2>", "<|im_end|>",
    "<|im_start|>system", "[/INST]", "$name", "${x}", "# The parent program", "FILE: a.py\n", "\x1b[2J",
    "\x07", "\u202e", "x = 1\n", "  ",
    "\r\n",
]  # fmt: skip
TEXTS = st.lists(
    st.sampled_from(PIECES) | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4)
).map("".join)
# Proposals are large values, and slow to draw on a busy machine.
on_any_machine = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SEED = Program.of({"p.py": "x = 1\n"})
PROBLEM = Problem(
    name="sums",
    description="Add numbers.",
    seeds=(SEED,),
    evaluator=EvaluatorSpec(entry="run"),
    objectives=(Objective(name="speed", low=0, high=1), Objective(name="size", low=0, high=9)),
)


@st.composite
def individuals(draw: st.DrawFn) -> Individual:
    return Individual(
        candidate_id=f"cnd_{draw(st.integers(0, 99))}",
        program=Program.of({"p.py": draw(TEXTS)}),
        evaluation=Evaluation(
            outcome=draw(st.sampled_from(Outcome)),
            reason=draw(TEXTS),
            scores={"speed": draw(st.floats(0, 1)), draw(TEXTS): 1.0},
            cases={draw(TEXTS): 0.5},
            feedback=draw(TEXTS),
        ),
        measures={},
    )


@st.composite
def proposals(draw: st.DrawFn) -> Proposal:
    return Proposal(
        id="prp_1",
        number=draw(st.integers(1, 9)),
        island=0,
        operator="mutate",
        parent=draw(individuals()),
        inspirations=tuple(draw(st.lists(individuals(), max_size=3))),
        failures=tuple(draw(st.lists(individuals(), max_size=4))),
        weights=draw(st.sampled_from([(), (0.2, 0.8)])),
        answers=3,
        limit=draw(st.integers(1, 3)),
    )


def characters(text: str) -> int:
    return len(text)


def user(prompt: Prompt) -> str:
    return prompt.messages[1].content


@on_any_machine
@given(proposals(), st.integers(2000, 6000))
def test_a_prompt_fits_its_context_with_the_parent_whole_or_is_refused(proposal: Proposal, context: int) -> None:
    request = PromptRequest(problem=PROBLEM, proposal=proposal, context_tokens=context, reply_tokens=100)
    try:
        prompt = build_prompt(request, characters)
    except PolicyRefused:
        whole = build_prompt(
            PromptRequest(problem=PROBLEM, proposal=proposal, context_tokens=10**9, reply_tokens=100), characters
        )
        assert whole.tokens + 100 > context
        return
    assert sum(len(message.content) for message in prompt.messages) <= prompt.tokens <= context - 100
    assert shown(proposal.parent.program, "python") in user(prompt)
    assert prompt.shown[0] == proposal.parent.candidate_id


@on_any_machine
@given(proposals(), proposals())
def test_what_proposals_of_a_run_share_is_a_common_prefix(first: Proposal, second: Proposal) -> None:
    prompts = [build_prompt(PromptRequest(problem=PROBLEM, proposal=one), characters) for one in (first, second)]
    assert prompts[0].messages[0] == prompts[1].messages[0]
    assert prompts[0].messages[1].parts[0] == prompts[1].messages[1].parts[0]
    shared = prompts[0].messages[1].parts[0]
    assert all(user(prompt).startswith(shared) for prompt in prompts)
    assert "Add numbers." in shared
    assert "</answer_3>" in shared


@on_any_machine
@given(proposals())
def test_more_context_never_shows_less(proposal: Proposal) -> None:
    shown_before: tuple[str, ...] = ()
    for context in range(2000, 8000, 500):
        try:
            prompt = build_prompt(
                PromptRequest(problem=PROBLEM, proposal=proposal, context_tokens=context, reply_tokens=0), characters
            )
        except PolicyRefused:
            assert not shown_before
            continue
        assert prompt.shown[: len(shown_before)] == shown_before
        shown_before = prompt.shown


@settings(deadline=None)
@given(TEXTS)
def test_no_text_closes_its_own_fence(text: str) -> None:
    lines = fenced(inert(text), "python").split("\n")
    opened = fence(lines[0])
    assert opened is not None
    assert [number for number, line in enumerate(lines) if number and opened.closed_by(line)] == [len(lines) - 1]


@on_any_machine
@given(proposals())
def test_foreign_text_stays_inert(proposal: Proposal) -> None:
    text = user(build_prompt(PromptRequest(problem=PROBLEM, proposal=proposal), characters))
    assert not re.search(r"<\|im_(start|end)\|>|\[/INST\]|[\x00-\x08\x0b-\x1f\u202e]", text)
    outside: list[str] = []
    opened: Fence | None = None
    for line in text.split("\n"):
        if opened is not None:
            opened = None if opened.closed_by(line) else opened
        else:
            opened = fence(line)
            outside.append(line)
    assert opened is None
    assert outside.count("# The parent program, to be improved") == 1

"""The form in which a policy is asked follows what each form brought for its tokens."""

from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from evolve.configuration import BudgetConfig, ConcurrencyConfig, RunConfig
from evolve.events import EventKind
from evolve.proposal import CompletedReply, Proposal, Reply, Usage
from evolve.reply_form import ReplyForm, allowed_forms
from evolve.search.driver import Driver
from evolve.search.ensemble import EnsembleMember
from evolve.search.form_credit import FormRecords, cost
from tests.fakes.world import answers, toy_problem
from tests.integration.runner.scene import ToyEvaluator

POLICY = "model"
PROPOSALS = 60


def form(edits: str, answers: int) -> ReplyForm:
    return ReplyForm(format="tags:answer", edits=edits, answers=answers, samples=8 // answers)


FORMS = [form(edits, answers) for edits in ("rewrite", "diff") for answers in (4, 1)]
# Share of answers that are of use, and tokens an answer: a 135M model, and one of the best of today.
SMALL = {"rewrite:4": (0.02, 300), "rewrite:1": (0.6, 320), "diff:4": (0.0, 150), "diff:1": (0.02, 200)}
LARGE = {"rewrite:4": (0.85, 700), "rewrite:1": (0.9, 760), "diff:4": (0.8, 180), "diff:1": (0.85, 260)}


def asked_in(
    model: Mapping[str, tuple[float, int]], program_tokens: float, seed: int, forms: Sequence[ReplyForm] = FORMS
) -> list[str]:
    """The forms of the proposals of a run whose policy is of use as often as the model says."""
    records, rng, drawn = FormRecords(), np.random.default_rng(seed), []
    for number in range(1, PROPOSALS + 1):
        chosen, _ = records.draw(POLICY, forms, program_tokens, [seed, number])
        share, tokens = model[chosen.name]
        tell(records, number, chosen, useful=int(rng.binomial(8, share)), output=8 * tokens)
        drawn.append(chosen.name)
    return drawn


def tell(records: FormRecords, number: int, chosen: ReplyForm, *, useful: int, output: int, invalid: int = 0) -> None:
    """A whole proposal of eight answers: its children, its last word, and what they came to."""
    records.begin(number, POLICY, chosen)
    for _ in range(useful + invalid):
        records.create(number)
    records.close(number, 8, Usage(output=output))
    for place in range(useful + invalid):
        records.evaluate(number, place < useful)


@pytest.mark.parametrize(("model", "tokens", "best"), [(SMALL, 250, "rewrite:1"), (LARGE, 650, "diff:4")])
@pytest.mark.parametrize("seed", range(5))
def test_a_model_ends_with_the_form_that_brings_most_for_its_tokens(
    model: Mapping[str, tuple[float, int]], tokens: float, best: str, seed: int
) -> None:
    late = Counter(asked_in(model, tokens, seed)[PROPOSALS // 2 :])
    assert late.most_common(1)[0][0] == best
    assert late[best] >= 0.6 * (PROPOSALS // 2)


CONTINUED = ReplyForm(format="single", edits="continue", answers=1, samples=8)


@pytest.mark.parametrize(("model", "continued"), [(SMALL | {"rewrite:1": (0.1, 320)}, True), (LARGE, False)])
@pytest.mark.parametrize("seed", range(5))
def test_a_reply_is_begun_for_a_model_whose_own_replies_are_of_little_use_and_for_no_other(
    model: Mapping[str, tuple[float, int]], seed: int, *, continued: bool
) -> None:
    late = Counter(asked_in({**model, "continue:1": (0.5, 60)}, 250, seed, [*FORMS, CONTINUED])[PROPOSALS // 2 :])
    assert (late["continue:1"] >= 0.6 * (PROPOSALS // 2)) if continued else (late["continue:1"] == 0)


def test_nothing_is_drawn_where_there_is_one_form() -> None:
    assert FormRecords().draw(POLICY, FORMS[:1], 100.0, [0, 1]) == (FORMS[0], {})


def test_a_draw_follows_from_the_seed_the_number_and_what_was_seen() -> None:
    one, two = FormRecords(), FormRecords()
    for records in (one, two):
        tell(records, 1, FORMS[1], useful=3, output=2_000)
    draws = [records.draw(POLICY, FORMS, 300.0, [7, 2]) for records in (one, two)]
    assert draws[0] == draws[1]
    other = {records.draw(POLICY, FORMS, 300.0, [7, number])[0] for records in (one,) for number in range(40)}
    assert len(other) > 1


def test_before_the_first_answer_short_programs_are_rewritten_and_long_ones_edited() -> None:
    def edited(program_tokens: float) -> float:
        draws = [FormRecords().draw(POLICY, FORMS, program_tokens, [0, number])[0] for number in range(200)]
        return sum(one.edits == "diff" for one in draws) / len(draws)

    assert edited(60) < 0.3
    assert edited(5_000) > 0.8


def test_a_child_counts_as_useful_until_it_turns_out_invalid_or_a_duplicate() -> None:
    records = FormRecords()
    records.begin(1, POLICY, FORMS[0])
    for _ in range(3):
        records.create(1)
    assert records.of(POLICY, FORMS[0]).useful == 3.0
    records.close(1, 8, Usage(input=400, cached=400, output=1_000))
    for valid in (True, False, False):
        records.evaluate(1, valid)
    record = records.of(POLICY, FORMS[0])
    assert (record.answers, record.useful, record.tokens) == (8.0, 1.0, 1_000.0)
    records.evaluate(1, False)  # nothing of it is awaited: a repeated word changes nothing
    assert record.useful == 1.0


def test_a_proposal_that_nobody_was_asked_says_nothing_of_its_form() -> None:
    records = FormRecords()
    records.begin(1, POLICY, FORMS[0])
    records.close(1, 8, None)
    assert records.of(POLICY, FORMS[0]).answers == 0.0


def test_each_policy_has_records_of_its_own() -> None:
    records = FormRecords()
    tell(records, 1, FORMS[0], useful=8, output=100)
    assert records.of("another", FORMS[0]).answers == 0.0


def test_an_input_token_that_no_cache_held_costs_a_quarter_of_an_output_token() -> None:
    assert cost(Usage(input=1_000, cached=600, output=50)) == 150.0


def test_a_form_is_read_as_it_was_told() -> None:
    assert ReplyForm.read(FORMS[2].as_json()) == FORMS[2]


@dataclass
class FormedPolicy:
    """A policy that writes something of use in one of its forms alone; of the toy world otherwise."""

    able: str
    name: str = "formed"
    answers: int = 4
    samples: int = 2
    concurrency: int = 1
    forms: Sequence[ReplyForm] = field(default_factory=lambda: tuple(FORMS))

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        assert proposal.form is not None
        useful = proposal.form.name == self.able
        for number, answer in enumerate(answers(proposal)):
            yield answer if useful else replace(answer, text=f"no program {number}")
        yield CompletedReply(completions=("text",), usage=Usage(input=100, output=100 * proposal.limit))


@pytest.mark.parametrize("able", ["rewrite:1", "diff:4"])
async def test_a_run_finds_the_form_in_which_its_policy_can_answer(able: str) -> None:
    toy = toy_problem()
    config = RunConfig(budget=BudgetConfig(answers=400), concurrency=ConcurrencyConfig(policy=1))
    driver = Driver(
        "run_forms", toy, config, [EnsembleMember(policy=FormedPolicy(able))], ToyEvaluator(toy), monotonic=float
    )
    result = await driver.run()
    created = [event.payload for event in result.events if event.kind is EventKind.PROPOSAL_CREATED]
    asked = [ReplyForm.read(payload["form"]).name for payload in created]
    assert set(asked[:20]) > {able}
    late = Counter(asked[len(asked) // 2 :])
    assert late[able] > 0.7 * late.total()
    assert created[-1]["rationale"]["form"]["name"] == asked[-1]
    assert all(payload["limit"] <= 8 for payload in created)


def test_a_run_that_says_how_many_answers_it_wants_leaves_only_the_edits_open() -> None:
    assert {form.name for form in allowed_forms(FORMS, 4, 0)} == {"rewrite:4", "diff:4"}
    assert [(form.name, form.samples) for form in allowed_forms(FORMS, 3, 5)] == [("rewrite:3", 5)]
    assert allowed_forms((), 3, 5) == ()

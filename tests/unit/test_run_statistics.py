"""What a run came to, in numbers, held to what comes of looking at everything."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from evolve.configuration import BudgetConfig, RunConfig
from evolve.event_codec import encode
from evolve.events import Event, EventKind
from evolve.program import Program
from evolve.similarity.novelty import distance as token_distance
from service.ports import Counters, LoggedEvent, RunReader, RunRecord, ScoredCandidate
from service.projections import answers, program_diversity, statistics
from service.projections.columns import Columns, columns_of
from service.projections.series import fold_series
from service.projections.statistics import fold_statistics, reward_diversity
from tests.fakes.events import candidate_rejected, proposal_created, whole_payload
from tests.fakes.world import World, new_search, toy_problem

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TWO = [{"name": "a", "low": 0.0, "high": 4.0}, {"name": "b", "low": 0.0, "high": 4.0}]


class Reads:
    """A reader of one run: its evaluations, and events between them."""

    def __init__(
        self,
        rows: Sequence[ScoredCandidate],
        events: Sequence[LoggedEvent] = (),
        text: str = "x = {}\n",
        completions: Mapping[int, int] | None = None,
        repeats: Mapping[str, int] | None = None,
    ) -> None:
        self.rows, self.logged, self.text = rows, events, text
        self.completions, self.repeats = completions or {}, repeats or {}

    def sequences(self, run_ids: Sequence[str]) -> Mapping[str, tuple[int, str]]:
        return dict.fromkeys(run_ids, (10_000, "succeeded"))

    def scored(self, run_id: str, after: int = 0) -> Iterator[ScoredCandidate]:
        return (row for row in self.rows if row.sequence > after)

    def events(
        self, run_id: str, after: int = 0, limit: int | None = None, kinds: Sequence[str] = ()
    ) -> list[LoggedEvent]:
        return [one for one in self.logged if one.sequence > after and one.event.kind in kinds]

    def programs(self, candidate_ids: Sequence[str]) -> dict[str, Program]:
        return {one: Program.of({"main.py": self.text.format(one)}) for one in candidate_ids}

    def finish_reasons(self, _: str, after: int, **__: Any) -> list[tuple[int, Sequence[str]]]:
        """One for each completion that a proposal had."""
        return [(number, ["stop"] * count) for number, count in sorted(self.completions.items()) if number > after]

    def proposal_numbers(self, candidate_ids: Sequence[str]) -> Mapping[str, int]:
        """The proposals of candidates that repeat another."""
        return {one: self.repeats[one] for one in candidate_ids if one in self.repeats}


def run_of(**changes: Any) -> RunRecord:
    fields = {"id": "run_1", "objectives": TWO, "measures": (), "config": {}, "policies": (), "counters": Counters()}
    return cast(RunRecord, SimpleNamespace(**(fields | changes)))


def row(
    sequence: int,
    number: int,
    position: int = 0,
    rewards: Sequence[float] | None = (1.0, 1.0),
    *,
    island: int = 0,
    parent: str | None = None,
) -> ScoredCandidate:
    fitness = None if rewards is None else float(sum(rewards))
    outcome = "timeout" if rewards is None else "ok"
    return ScoredCandidate(
        sequence, f"cnd_{sequence}", number, position, island, parent, *(("mutate", "m") if number else ("seed", "")),
        outcome, fitness, rewards, dict(zip("ab", rewards or (), strict=False)), {}, 0.5,
        START + timedelta(seconds=sequence),
    )  # fmt: skip


def logged(kind: EventKind, sequence: int, **payload: Any) -> LoggedEvent:
    return LoggedEvent(
        run_id="run_1", sequence=sequence, at=START, event=Event.stored(kind, payload=whole_payload(kind, payload))
    )


def migrated(sequence: int, to: int, *candidate_ids: str) -> LoggedEvent:
    return logged(EventKind.ISLAND_MIGRATED, sequence, **{"from": 0, "to": to, "candidate_ids": list(candidate_ids)})


def put(sequence: int, number: int, answers: int, samples: int, **more: Any) -> LoggedEvent:
    data = proposal_created(number, answers=answers, samples=samples, **more)
    return logged(data.kind, sequence, **encode(data))


def came(sequence: int, number: int, tokens: tuple[int, int] = (10, 5), **more: Any) -> LoggedEvent:
    payload = {"answers": 1, "dropped": 0, "cost": "0", "seconds": 1.0} | more
    bill = {"input": tokens[0], "cached": 0, "output": tokens[1]}
    return logged(EventKind.PROPOSAL_ANSWERED, sequence, proposal_number=number, tokens=bill, **payload)


def told(
    rows: Sequence[ScoredCandidate], run: RunRecord | None = None, **world: Any
) -> tuple[RunReader, Columns, RunRecord]:
    reader, run = cast(RunReader, Reads(rows, **world)), run or run_of()
    return reader, columns_of(reader, run), run


def test_best_and_pass_at_k_are_means_over_all_subsets_of_the_answers_beside_the_seed() -> None:
    fitness = [0.5, None, 3.0, 1.5, 2.0]
    rows = [row(1, 0, 0, (0.5, 0.5))]
    rows += [row(2 + i, 1 + i, 0, None if f is None else (f, 0.0)) for i, f in enumerate(fitness)]
    _, columns, run = told(rows)
    found = answers.of_answers(columns, run)
    worth = [1.0 if f is None else max(1.0, f) for f in fitness]
    assert [(one.k, found.count) for one in found.at] == [(1, 5), (2, 5), (4, 5), (5, 5)]
    for one in found.at:
        subsets = list(itertools.combinations(worth, one.k))
        assert one.best == pytest.approx(sum(map(max, subsets)) / len(subsets))
        assert one.passed == pytest.approx(sum(max(subset) > 1.0 for subset in subsets) / len(subsets))


def test_a_target_is_what_passes() -> None:
    _, columns, _ = told([row(1, 0), row(2, 1, 0, (2.0, 1.0)), row(3, 2, 0, (2.0, 2.0))])
    found = answers.of_answers(columns, run_of(config={"budget": {"target": 4.0}}))
    assert [one.passed for one in found.at] == [0.5, 1.0]


def test_a_failed_answer_does_not_pass_where_the_seed_would() -> None:
    # Two answers a chain: one chain of two failures, one of a failure and a miss, one of a failure and a pass.
    fitness = [None, None, None, 3.0, 5.0, None]
    rows = [row(1, 0, 0, (6.0, 0.0))]
    rows += [row(2 + i, 1 + i // 2, i % 2, None if f is None else (f, 0.0)) for i, f in enumerate(fitness)]
    # A fourth chain of which nothing was evaluated.
    events = [event for n in (1, 2, 3, 4) for event in (put(10 + n, n, 2, 1), came(20 + n, n))]
    run = run_of(config={"budget": {"target": 4.0}})
    _, columns, _ = told(rows, run, events=events)
    for found, n in ((answers.of_answers(columns, run), 6), (answers.of_chains(columns, run), 4)):
        assert [one.passed for one in found.at] == pytest.approx(
            [1 - math.comb(n - 1, one.k) / math.comb(n, one.k) for one in found.at]
        )
        assert [one.best for one in found.at] == pytest.approx([6.0] * len(found.at))


def test_beside_seeds_that_failed_every_valid_answer_is_better() -> None:
    _, columns, run = told([row(1, 0, 0, None), row(2, 1, 0, (1.0, 0.0)), row(3, 2, 0, None), row(4, 3, 0, (2.0, 0.0))])
    found = answers.of_answers(columns, run)
    assert [one.passed for one in found.at] == pytest.approx([2 / 3, 1.0, 1.0])  # 1 - C(1, k) / C(3, k)
    # The failure is as good as the worst that was valid: 1, 1, 2.
    assert [one.best for one in found.at] == pytest.approx([4 / 3, 5 / 3, 2.0])


@pytest.mark.parametrize(
    ("objectives", "budget", "threshold", "source"),
    [
        ([{"name": "a", "target": 3.5}], {}, 3.5, "objective"),
        ([{"name": "a", "direction": "minimize", "target": 3.5}], {"target": None}, -3.5, "objective"),
        ([{"name": "a", "direction": "minimize", "target": 0.0}], {}, 0.0, "objective"),
        ([{"name": "a", "target": 3.5}], {"target": 2.0}, 2.0, "budget"),
        ([{"name": "a", "target": 3.5}], {"target": 0.0}, 0.0, "budget"),
        ([{"name": "a"}], {}, None, "seed"),
        # A fitness over several objectives is none of theirs.
        ([TWO[0] | {"target": 3.5}, TWO[1]], {}, None, "seed"),
        ([], {}, None, "seed"),
    ],
)
def test_what_passes_is_the_target_of_the_run_else_of_its_one_objective(
    objectives: Any, budget: Any, threshold: float | None, source: str
) -> None:
    assert answers.threshold_of(run_of(objectives=objectives, config={"budget": budget})) == (threshold, source)


def test_where_less_is_better_a_score_at_the_target_or_below_passes() -> None:
    run = run_of(objectives=[{"name": "a", "direction": "minimize", "target": 3.0}])
    scores = [3.5, 3.0, 2.0, 4.0]
    reader, columns, _ = told(
        [row(1, 0, 0, (-5.0,)), *(row(2 + i, 1 + i, 0, (-x,)) for i, x in enumerate(scores))], run
    )
    found = fold_statistics(reader, columns, run)
    assert (found.threshold, found.threshold_from) == (-3.0, "objective")
    # Two of four: 1 - C(2, k) / C(4, k).
    assert [one.passed for one in found.answers.at] == pytest.approx([1 / 2, 5 / 6, 1.0])


def test_a_chain_is_worth_its_best_answer() -> None:
    # Two answers a chain, two chains a proposal: positions 0 and 1 are one chain, 2 and 3 the other.
    rows = [row(1, 0, 0, (0.5, 0.5))]
    worth = {(1, 0): 2.0, (1, 1): 3.0, (1, 2): 1.5, (2, 1): 4.0, (2, 3): 0.5}
    rows += [row(2 + i, *place, (f, 0.0)) for i, (place, f) in enumerate(worth.items())]
    events = [put(10, 1, 2, 2), put(11, 2, 2, 2), came(12, 1), came(13, 2)]
    # The budget had one answer left: one chain of one answer, and nothing of it was evaluated.
    events += [put(14, 3, 1, 1), came(15, 3)]
    _, columns, run = told(rows, events=events)
    found = answers.of_chains(columns, run)
    assert found.count == 5
    assert found.at[0].best == pytest.approx((3.0 + 1.5 + 4.0 + 1.0 + 1.0) / 5)
    assert found.at[0].passed == pytest.approx(3 / 5)
    assert found.at[-1].best == 4.0
    _, columns, run = told(rows)
    assert answers.of_chains(columns, run).count == 2  # nobody said how long chains are: a proposal is one


def test_cancelled_evaluations_count_nowhere() -> None:
    # Two answers a chain: a chain of a valid answer and a cancelled one, and one of which both were cancelled.
    rows = [row(1, 0, 0, (1.0, 0.0)), row(2, 1, 0, (2.0, 0.0))]
    places = [(1, 1), (2, 0), (2, 1)]
    cancelled = [row(3 + i, *place, None)._replace(outcome="cancelled") for i, place in enumerate(places)]
    events = [put(10, 1, 2, 1), put(11, 2, 2, 1), came(12, 1), came(13, 2)]
    reader, columns, run = told([*rows, *cancelled], events=events)
    found = fold_statistics(reader, columns, run)
    assert (found.evaluations, found.valid) == (2, 2)
    assert (found.answers.count, found.chains.count) == (1, 1)
    assert [one.evaluations for one in (*found.policies, *found.operators)] == [1, 1, 1]
    sample = fold_series(columns, 10).moments[-1]
    assert (sample.evaluations, sample.valid) == (2, 1.0)
    restored = Columns.restored(run, columns.state())
    assert fold_statistics(reader, restored, run) == found


def test_duplicates_and_rejected_answers_are_shares_of_the_answers() -> None:
    # Five answers to the first proposal: one is evaluated, one repeats it, one is rejected, and two are in flight.
    # The second is not answered as a whole yet, and one of its answers is evaluated.
    rows = [row(1, 0, 0), row(2, 1, 0), row(50, 2, 0)]
    wasted = [
        logged(EventKind.CANDIDATE_DUPLICATE, 3, candidate_id="cnd_9", of="cnd_2"),
        logged(EventKind.CANDIDATE_REJECTED, 4, **encode(candidate_rejected(1, 2))),
    ]
    events = [*wasted, put(10, 1, 5, 1), came(12, 1, answers=5)]
    _, columns, run = told(rows, events=events)
    last = fold_series(columns, 10).moments[-1]
    assert (last.duplicates, last.rejected) == (1 / 5, 1 / 5)
    restored = Columns.restored(run, columns.state())
    assert fold_series(restored, 10).moments == fold_series(columns, 10).moments
    _, columns, _ = told(rows, events=wasted)
    assert fold_series(columns, 10).moments[-1].duplicates == 1 / 4


@pytest.mark.parametrize("budget", [1, 8, 9, 10, 13, 16, 21])
def test_chains_are_as_many_as_the_budget_let_be_asked_for(budget: int) -> None:
    config = RunConfig(answers=2, samples=4, budget=BudgetConfig(evaluations=None, answers=budget))
    world, search = World(toy_problem()), new_search(toy_problem(), config)
    # The only answer of a budget of one makes no program.
    assert world.play(search, search.start()) == ("answers" if budget > 1 else "no_usable_answers")
    log = [logged(event.kind, sequence, **event.payload) for sequence, event in enumerate(world.log, 1)]
    _, columns, run = told([], events=log)
    assert answers.of_chains(columns, run).count == math.ceil(budget / 2)


def test_chains_that_a_policy_did_not_write_are_not_counted() -> None:
    # The run says four, and without temperature a policy writes one.
    _, columns, run = told(
        [], events=[put(1, 1, 1, 4), came(2, 1), put(3, 2, 1, 4), came(4, 2)], completions={1: 1, 2: 1}
    )
    assert answers.of_chains(columns, run).count == 2


def test_chains_of_a_proposal_that_was_cut_off_count_and_those_that_nobody_began_do_not() -> None:
    rows = [row(1, 0), row(2, 1, 0, (3.0, 0.0))]
    cut = {
        "proposal_number": 1,
        "reason": "the run ended",
        "tokens": {"input": 9, "cached": 0, "output": 3},
        "cost": None,
    }
    events = [
        put(3, 1, 2, 3),
        put(4, 2, 2, 3),
        put(5, 3, 2, 3),
        logged(EventKind.PROPOSAL_FAILED, 6, **cut),
        logged(EventKind.PROPOSAL_FAILED, 7, proposal_number=2, reason="refused"),
    ]
    _, columns, run = told(rows, events=events)
    found = answers.of_chains(columns, run)
    assert found.count == 3
    assert found.at[0].passed == pytest.approx(1 / 3)


def test_yields_tell_of_each_policy_what_became_of_its_answers_and_what_an_improvement_took() -> None:
    rows = [
        row(1, 0, 0, (1.0, 1.0)),
        row(2, 1, 0, (2.0, 1.0)),
        row(3, 1, 1, None),
        row(4, 1, 2, (1.0, 0.5)),
        row(5, 2, 0, (3.0, 1.0)),
    ]
    events = [
        put(10, 1, 6, 1),
        logged(EventKind.CANDIDATE_REJECTED, 11, **encode(candidate_rejected(1))),
        logged(EventKind.CANDIDATE_REJECTED, 12, **encode(candidate_rejected(1, 1))),
        logged(EventKind.CANDIDATE_DUPLICATE, 13, candidate_id="cnd_again", of="cnd_1"),
        came(14, 1, (2000, 400), answers=6, dropped=3),
        put(15, 2, 1, 1),
        came(16, 2, (80, 20)),
        put(17, 3, 1, 1, policy="idle"),
        came(18, 3, (0, 0), answers=0, dropped=1),
    ]
    reader, columns, run = told(rows, events=events, repeats={"cnd_again": 1})
    idle, m = fold_statistics(reader, columns, run).policies
    assert (m.name, m.answers, m.dropped, m.rejected, m.duplicates, m.evaluations, m.valid) == ("m", 7, 3, 2, 1, 4, 3)
    # Fitness 3 and then 4 were the best of the run, for 2,500 tokens.
    assert (m.improvements, m.tokens, m.tokens_per_improvement) == (2, 2500, 1250)
    assert m.improvements_per_million_tokens == pytest.approx(800)
    assert (idle.answers, idle.dropped, idle.improvements_per_million_tokens, idle.tokens_per_improvement) == (
        0, 1, None, None,
    )  # fmt: skip


def test_chains_tell_how_many_different_answers_they_hold_and_what_these_are_worth() -> None:
    rows = [
        row(1, 1, 0, (1.0, 0.0)),
        row(2, 1, 1, (1.0, 0.0)),
        row(3, 1, 2, (0.0, 3.0)),
        row(4, 2, 0, None),
        row(5, 2, 1, (0.0, 1.0)),
    ]
    _, columns, _ = told(rows)
    found = answers.chain_diversity(columns)
    assert found is not None
    assert (found.chains, found.sampled, found.answers, found.distinct) == (2, 2, 2.5, 1.5)
    # Fitness runs from 1 to 3: utilities 0, 0 (again the same), 1; and 0 (failed), 0.
    assert found.utility == pytest.approx((0.2 / (1 - 0.8**3) * 0.8**2 * 1.0 + 0.0) / 2)


def test_a_migrants_descendant_that_is_better_than_all_its_new_island_had_is_a_gain() -> None:
    rows = [
        row(1, 0, 0, (1.0, 0.0), island=0),
        row(2, 1, 0, (5.0, 0.0), island=0, parent="cnd_1"),
        row(3, 2, 0, (2.0, 0.0), island=1, parent="cnd_1"),  # drawn on from elsewhere: no migrant
        row(6, 3, 0, (4.0, 0.0), island=1, parent="cnd_2"),  # of the migrant, and worse than it
        row(7, 4, 0, (6.0, 0.0), island=1, parent="cnd_6"),  # its grandchild is better than all there
        row(8, 5, 0, (7.0, 0.0), island=1, parent="cnd_3"),  # better, and of the island's own
        row(9, 6, 0, (8.0, 0.0), island=1, parent="cnd_7"),
        row(10, 7, 0, None, island=1, parent="cnd_7"),
    ]
    events = [migrated(4, 1, "cnd_2"), migrated(5, 2, "cnd_1", "cnd_2"), migrated(11, 1, "cnd_2", "cnd_10")]
    reader, columns, run = told(rows, events=events)
    found = fold_statistics(reader, columns, run).migrations
    assert (found.arrivals, found.used, found.gained, found.improvements) == (4, 1, 1, 2)


def test_programs_differ_as_far_as_their_pairs_do(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, columns, _ = told([row(place, place) for place in range(1, 7)], text="def pack():\n    return '{}'\n")
    found = program_diversity.program_diversity(reader, columns)
    programs = list(reader.programs(columns.ids).values())
    pairs = list(itertools.combinations(programs, 2))
    assert found.tokens == pytest.approx(sum(token_distance(*pair) for pair in pairs) / len(pairs))
    assert found.tree is not None
    assert 0 < found.tree < 1
    monkeypatch.setattr(program_diversity, "MAX_PROGRAMS", 3)
    assert program_diversity.program_diversity(reader, columns) == program_diversity.program_diversity(reader, columns)
    assert program_diversity.program_diversity(reader, columns).sampled == 3


def test_reward_vectors_differ_as_far_as_their_pairs_do(monkeypatch: pytest.MonkeyPatch) -> None:
    rewards = np.random.default_rng(0).random((40, 3))
    rewards[7] = rewards[3]
    found = reward_diversity(rewards)
    pairs = list(itertools.combinations(rewards, 2))
    assert found.l1 == pytest.approx(sum(np.abs(a - b).sum() for a, b in pairs) / len(pairs))
    assert found.l2 == pytest.approx(sum(math.dist(a, b) for a, b in pairs) / len(pairs))
    assert (found.valid, found.sampled, found.distinct) == (40, 40, 39)
    monkeypatch.setattr(statistics, "MAX_REWARDS", 20)
    drawn = reward_diversity(rewards)
    assert (drawn.sampled, drawn.l1, drawn.distinct) == (20, found.l1, 39)
    assert drawn.l2 == pytest.approx(found.l2, rel=0.3)


def test_objectives_that_say_the_same_come_with_advice() -> None:
    same = [row(place, place, 0, (place / 10, place / 5)) for place in range(1, 9)]
    reader, columns, run = told(same)
    found = fold_statistics(reader, columns, run)
    assert found.collinearity is not None
    assert found.collinearity.value == pytest.approx(1.0)
    assert "nearly collinear" in str(found.collinearity.advice)
    # The front of one line is its end, and the volume below it a rectangle.
    assert found.hypervolume == pytest.approx(0.8 * 1.6)
    assert found.best_fitness == pytest.approx(2.4)
    assert (found.front, found.best_at) == (1, 8)


def test_a_run_without_evaluations_has_statistics_too() -> None:
    reader, columns, run = told([])
    found = fold_statistics(reader, columns, run)
    assert (found.evaluations, found.answers.at, found.chain, found.best_at, found.collinearity) == (
        0,
        [],
        None,
        None,
        None,
    )
    assert (found.rewards.l2, found.programs.tokens, found.migrations.arrivals) == (None, None, 0)


def test_a_run_that_only_failed_has_them_as_well() -> None:
    reader, columns, run = told([row(1, 0, 0, None), row(2, 1, 0, None)])
    found = fold_statistics(reader, columns, run)
    assert [(one.best, one.passed) for one in found.answers.at] == [(None, 0.0)]
    assert (found.best_fitness, found.rewards.valid) == (None, 0)

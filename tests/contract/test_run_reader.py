"""What every RunReader holds."""

from datetime import timedelta
from typing import Any

import pytest

from evolve.evaluation import Outcome
from evolve.events import EventKind
from evolve.program import Program
from evolve.proposal import Charge, Usage
from evolve.reply_form import ReplyForm
from service.errors import NotFoundError, UsageError
from service.ports import Bundle, Counters, ParentEdge, RunFilter, RunLog, RunReader
from service.projections.columns import columns_of
from tests.contract.story import RUN, START, WHY, Story, new_run
from tests.contract.test_run_log import begin, reject


class TestRuns:
    def test_runs_are_listed_newest_first_and_paged(self, log: RunLog, reader: RunReader) -> None:
        ids = [f"run_{n:032x}" for n in range(5)]
        for age, run_id in enumerate(ids):
            log.create(new_run(run_id, created_at=START - timedelta(minutes=age // 2)))
        # Two runs of one moment: the higher id counts as the newer.
        expected = [ids[1], ids[0], ids[3], ids[2], ids[4]]
        assert [run.id for run in reader.runs()] == expected
        first = reader.runs(limit=3)
        rest = reader.runs(limit=3, after=(first[-1].created_at, first[-1].id))
        assert [run.id for run in (*first, *rest)] == expected
        oldest = reader.runs(limit=3, oldest_first=True)
        newest = reader.runs(limit=3, after=(oldest[-1].created_at, oldest[-1].id), oldest_first=True)
        assert [run.id for run in (*oldest, *newest)] == expected[::-1]

    def test_runs_are_told_apart_by_the_time_of_their_creation(self, log: RunLog, reader: RunReader) -> None:
        ids = [f"run_{n:032x}" for n in range(3)]
        for age, run_id in enumerate(ids):
            log.create(new_run(run_id, created_at=START - timedelta(minutes=age)))
        moment = START - timedelta(minutes=1)
        since, until = RunFilter(created_after=moment), RunFilter(created_before=moment)
        assert [run.id for run in reader.runs(only=since)] == ids[:2]
        assert [run.id for run in reader.runs(only=until)] == ids[2:]
        assert (reader.count_runs(since), reader.count_runs(until)) == (2, 1)

    def test_no_runs_are_an_empty_list(self, reader: RunReader) -> None:
        assert reader.runs() == []

    def test_equal_problems_are_stored_once_and_changed_ones_are_told_apart(
        self, log: RunLog, reader: RunReader
    ) -> None:
        changed = new_run("run_c", bundle=Bundle(hash="c" * 64, content=b"other"))
        for run in (new_run("run_a"), new_run("run_b"), changed):
            log.create(run)
        assert [reader.run(run).bundle_hash[0] for run in ("run_a", "run_b", "run_c")] == ["b", "b", "c"]
        assert log.bundle("run_c").content == b"other"


class TestIds:
    def test_a_beginning_names_a_run(self, log: RunLog, reader: RunReader) -> None:
        log.create(new_run())
        assert reader.run(RUN[:8]).id == RUN

    def test_an_ambiguous_beginning_names_those_it_could_be(self, log: RunLog, reader: RunReader) -> None:
        log.create(new_run("run_00aa1"))
        log.create(new_run("run_00aa2"))
        with pytest.raises(UsageError, match="run_00aa1, run_00aa2"):
            reader.run("run_00a")

    def test_a_whole_id_wins_over_longer_ones(self, log: RunLog, reader: RunReader) -> None:
        log.create(new_run("run_00aa"))
        log.create(new_run("run_00aa2"))
        assert reader.run("run_00aa").id == "run_00aa"

    def test_a_beginning_that_is_too_short_is_refused(self, log: RunLog, reader: RunReader) -> None:
        log.create(new_run())
        with pytest.raises(UsageError, match="at least 6"):
            reader.run("run_0")

    @pytest.mark.parametrize("word", ["run_ffffff", "", "run_0190\x00", "run_\udc80aaaaa", "run_%%%%%%", "'; drop --"])
    def test_what_names_nothing_is_not_found(self, log: RunLog, reader: RunReader, word: str) -> None:
        log.create(new_run())
        with pytest.raises(NotFoundError):
            reader.run(word)
        with pytest.raises(NotFoundError):
            reader.candidate(word)

    def test_case_tells_ids_apart(self, log: RunLog, reader: RunReader) -> None:
        log.create(new_run("run_00aaXX"))
        with pytest.raises(NotFoundError):
            reader.run("run_00AA")


class TestStates:
    @pytest.mark.parametrize(
        ("kinds", "state"),
        [
            ([EventKind.RUN_STARTED], "running"),
            ([EventKind.RUN_STARTED, EventKind.RUN_PAUSING], "pausing"),
            ([EventKind.RUN_STARTED, EventKind.RUN_PAUSING, EventKind.RUN_PAUSED], "paused"),
            ([EventKind.RUN_STARTED, EventKind.RUN_PAUSED, EventKind.RUN_RESUMED], "running"),
            ([EventKind.RUN_STARTED, EventKind.RUN_CANCELLED], "cancelled"),
        ],
    )
    def test_events_move_the_state(
        self, log: RunLog, reader: RunReader, story: Story, kinds: list[EventKind], state: str
    ) -> None:
        log.create(new_run())
        fence = log.take(RUN, "runner-1", 60)
        log.append(RUN, fence, [story.tell(kind, by="me") for kind in kinds])
        assert reader.run(RUN).state == state

    @pytest.mark.parametrize(
        ("reason", "state"), [("evaluations", "succeeded"), ("target", "succeeded"), ("error", "failed")]
    )
    def test_the_reason_says_how_a_run_ended(
        self, log: RunLog, reader: RunReader, story: Story, reason: str, state: str
    ) -> None:
        fence = begin(log, story)
        last = story.tell(EventKind.RUN_FINISHED, reason=reason)
        log.append(RUN, fence, [last])
        run = reader.run(RUN)
        assert (run.state, run.reason, run.finished_at, run.sequence) == (state, reason, last.at, last.sequence)

    def test_a_run_that_waits_says_why_and_since_when(self, log: RunLog, reader: RunReader, story: Story) -> None:
        fence = begin(log, story)
        told = story.tell(EventKind.RUN_WAITING, reason="the policy does not answer", retry_at="2026-03-01T12:01:00Z")
        log.append(RUN, fence, [told])
        assert reader.run(RUN).waiting == {
            "reason": "the policy does not answer",
            "since": told.at.isoformat().replace("+00:00", "Z"),
            "retry_at": "2026-03-01T12:01:00Z",
        }
        log.append(RUN, fence, [story.tell(EventKind.RUN_UNBLOCKED, reason="")])
        assert (reader.run(RUN).waiting, reader.run(RUN).state) == (None, "running")

    def test_time_at_work_leaves_out_pauses_and_absences(self, log: RunLog, reader: RunReader, story: Story) -> None:
        log.create(new_run())
        fence = log.take(RUN, "runner-1", 60)
        log.append(RUN, fence, [story.tell(EventKind.RUN_STARTED)])
        log.append(RUN, fence, [story.tell(EventKind.RUN_PAUSING), story.tell(EventKind.RUN_PAUSED)])  # 2 s of work
        story.at += timedelta(hours=1)
        log.append(RUN, fence, [story.tell(EventKind.RUN_RESUMED), story.create(0)])  # 1 s of work
        story.at += timedelta(hours=1)  # killed, and taken up by another process
        log.append(RUN, fence, [story.tell(EventKind.RUN_RESUMED), story.evaluate(story.id(0))])  # 1 s of work
        assert reader.run(RUN).active_seconds == 4.0

    def test_a_finished_run_that_goes_on_is_running_again(self, log: RunLog, reader: RunReader, story: Story) -> None:
        fence = begin(log, story)
        log.append(RUN, fence, [story.tell(EventKind.RUN_FINISHED, reason="evaluations")])
        change: dict[str, Any] = {"key": "evaluations", "from": 200, "to": 300}
        extended = story.tell(EventKind.BUDGET_EXTENDED, **change)
        log.append(RUN, fence, [extended, story.tell(EventKind.RUN_RESUMED)])
        run = reader.run(RUN)
        assert (run.state, run.reason, run.finished_at) == ("running", "", None)
        assert run.config == {"strategy": "islands", "budget": {"evaluations": 300, "tokens": None}}

    def test_counters_are_the_fold_of_the_events(self, log: RunLog, reader: RunReader, story: Story) -> None:
        fence = begin(log, story)
        parent = story.id(0)
        log.append(RUN, fence, story.child(1, parent))
        log.append(RUN, fence, story.child(2, parent, None))
        asked = [
            story.propose(3, parent),
            story.create(3),
            story.tell(EventKind.PROPOSAL_FAILED, proposal_number=3, reason="x"),
        ]
        log.append(RUN, fence, asked)
        duplicate = story.tell(EventKind.CANDIDATE_DUPLICATE, candidate_id=story.id(3), of=parent)
        rejected = reject(story, 3, 1)
        cancelled = [story.create(4), story.evaluate(story.id(4), None, outcome=Outcome.CANCELLED)]
        log.append(RUN, fence, [duplicate, rejected, *cancelled])
        assert reader.run(RUN).counters == Counters(
            proposals=3, answers=5, evaluations=3, valid=2, failed=1, duplicates=1, rejected=1,
            tokens_input=200, tokens_cached=120, tokens_output=80, cost="0.03 USD",
        )  # fmt: skip

    def test_the_best_and_the_seed_are_shown(self, log: RunLog, reader: RunReader, story: Story) -> None:
        fence = begin(log, story)
        of_one_objective = story.tell(EventKind.BEST_IMPROVED, candidate_id="cnd_x", fitness=9.0, objective="speed")
        log.append(RUN, fence, [of_one_objective, *story.child(1, story.id(0), 2.5), story.improve(story.id(1), 2.5)])
        run = reader.run(RUN)
        assert (run.best_candidate_id, run.best_fitness, run.seed_fitness) == (story.id(1), 2.5, 1.0)


class TestCandidates:
    def test_an_evaluated_candidate_is_shown_whole(self, log: RunLog, reader: RunReader, story: Story) -> None:
        fence = begin(log, story)
        told = story.child(1, story.id(0), 2.0, repeats=4)
        log.append(RUN, fence, told)
        found = reader.candidate(story.id(1)[:12])
        assert (found.id, found.run_id, found.proposal_number, found.position) == (story.id(1), RUN, 1, 0)
        assert (found.operator, found.policy, found.status, found.outcome) == ("mutate", "syntax", "evaluated", "ok")
        assert found.parents == [ParentEdge(candidate_id=story.id(0), role="parent")]
        assert found.scores == {"sum_radii": 2.0}
        assert found.measures == {"depth": 3.0, "complexity": 12.0}
        assert found.cases == {"a": 0.5, "b": 1.0}
        assert (found.spread, found.repeats) == ({"sum_radii": 0.125}, 4)
        assert (found.feedback, found.seconds, found.isolation) == ("two circles overlap", 0.25, "strong/separate")
        assert (found.created_at, found.evaluated_at) == (told[1].at, told[3].at)

    def test_a_seed_has_no_policy_and_no_parents(self, log: RunLog, reader: RunReader, story: Story) -> None:
        begin(log, story)
        seed = reader.candidate(story.id(0))
        assert (seed.operator, seed.policy, seed.parents) == ("seed", "", [])

    def test_a_failed_candidate_says_why(self, log: RunLog, reader: RunReader, story: Story) -> None:
        fence = begin(log, story)
        log.append(RUN, fence, story.child(1, story.id(0), None))
        found = reader.candidate(story.id(1))
        assert (found.status, found.outcome, found.fitness) == ("evaluated", "timeout", None)
        assert found.reason == "it ran longer than 20 seconds"

    def test_a_rejected_candidate_has_parents_and_no_program(
        self, log: RunLog, reader: RunReader, story: Story
    ) -> None:
        fence = begin(log, story)
        log.append(RUN, fence, [story.propose(1, story.id(0)), reject(story, 1, 0)])
        found = reader.candidate(story.id(1))
        assert (found.status, found.program_id, found.fitness) == ("rejected", None, None)
        assert found.reason == "the SEARCH block is not in the parent"
        assert [edge.candidate_id for edge in found.parents] == [story.id(0)]
        with pytest.raises(NotFoundError, match="rejected"):
            reader.program(story.id(1))

    def test_a_duplicate_names_the_first(self, log: RunLog, reader: RunReader, story: Story) -> None:
        fence = begin(log, story)
        log.append(RUN, fence, [story.propose(1, story.id(0)), story.create(1)])
        log.append(RUN, fence, [story.tell(EventKind.CANDIDATE_DUPLICATE, candidate_id=story.id(1), of=story.id(0))])
        found = reader.candidate(story.id(1))
        assert found.status == "duplicate"
        assert story.id(0) in found.reason

    def test_a_walk_over_pages_sees_every_candidate_once(self, log: RunLog, reader: RunReader, story: Story) -> None:
        fence = begin(log, story)
        log.append(RUN, fence, [story.create(n, p) for n in (3, 1, 2) for p in (2, 0, 1)])
        seen: list[tuple[int, int]] = []
        after = (-1, -1)
        while page := reader.candidates(RUN, after=after, limit=4):
            seen += [(record.proposal_number, record.position) for record in page]
            after = seen[-1]
        assert seen == [(0, 0), *((n, p) for n in (1, 2, 3) for p in (0, 1, 2))]

    def test_the_program_is_the_source_as_it_was(self, log: RunLog, reader: RunReader, story: Story) -> None:
        fence = begin(log, story)
        program = Program.of({"b/ü.py": "π = 3\r\n", "a.py": "\ufdd0\U0001f600"})
        log.append(RUN, fence, [story.create(1, program=program)])
        assert reader.program(story.id(1)) == program

    def test_many_programs_come_at_once_without_those_that_never_were_one(
        self, log: RunLog, reader: RunReader, story: Story
    ) -> None:
        fence = begin(log, story)
        log.append(RUN, fence, [story.propose(1, story.id(0)), reject(story, 1, 0), story.create(2), story.create(3)])
        ids = [story.id(number) for number in range(4)]
        assert reader.programs(ids) == {name: reader.program(name) for name in (ids[0], ids[2], ids[3])}
        assert reader.programs([]) == {}


class TestRankings:
    def test_the_best_come_first_and_among_equals_the_oldest(
        self, log: RunLog, reader: RunReader, story: Story
    ) -> None:
        fence = begin(log, story)
        for number, fitness in enumerate([3.0, None, 5.0, 3.0, -1.0], start=1):
            log.append(RUN, fence, story.child(number, story.id(0), fitness))
        assert [record.proposal_number for record in reader.best(RUN, limit=4)] == [3, 1, 4, 0]
        assert len(reader.best(RUN)) == 5

    def test_the_front_holds_what_nothing_dominates(self, log: RunLog, reader: RunReader, story: Story) -> None:
        log.create(new_run(objectives=[{"name": name, "low": 0.0, "high": 1.0} for name in "ab"]))
        fence = log.take(RUN, "runner-1", 60)
        vectors = [(1.0, 1.0), (2.0, 0.0), (0.0, 2.0), (0.0, 0.5), (2.0, 0.0), (-1.0, 1.0)]
        for number, rewards in enumerate(vectors):
            created, scores = story.create(number), dict(zip("ab", rewards, strict=True))
            told = story.evaluate(story.id(number), sum(rewards), rewards=rewards, scores=scores, signed_scores=rewards)
            log.append(RUN, fence, [created, told])
        log.append(RUN, fence, [story.create(9), story.evaluate(story.id(9), None)])
        # By hand: the fourth is under the third, the sixth under the first; the fifth equals the second.
        assert [record.proposal_number for record in reader.front(RUN)] == [0, 1, 2, 4]

    def test_the_front_goes_by_scores_that_the_bounds_make_one_reward(
        self, log: RunLog, reader: RunReader, story: Story
    ) -> None:
        bounds = {"direction": "minimize", "low": 0.0, "high": 1e6}
        log.create(new_run(objectives=[{"name": "loss", **bounds}, {"name": "gain", "low": 0.0, "high": 1.0}]))
        fence = log.take(RUN, "runner-1", 60)
        for number, loss in enumerate([1e-11, 1e-13]):
            created, scores = story.create(number), {"loss": loss, "gain": 0.5}
            told = story.evaluate(story.id(number), 0.75, rewards=(1.0, 0.5), scores=scores, signed_scores=(-loss, 0.5))
            log.append(RUN, fence, [created, told])
        assert [record.proposal_number for record in reader.front(RUN)] == [1]
        columns = columns_of(reader, reader.run(RUN))
        assert [columns.ids[place] for place in columns.front()] == [story.id(1)]
        first, second = log.individuals(RUN, [story.id(0), story.id(1)])
        assert (first.signed_scores, second.signed_scores) == ((-1e-11, 0.5), (-1e-13, 0.5))

    def test_a_run_without_an_evaluation_has_no_best_and_no_front(self, log: RunLog, reader: RunReader) -> None:
        log.create(new_run())
        assert reader.best(RUN) == []
        assert reader.front(RUN) == []
        assert reader.candidates(RUN) == []


class TestLineage:
    def test_the_line_goes_over_first_parents_to_the_seed(self, log: RunLog, reader: RunReader, story: Story) -> None:
        fence = begin(log, story)
        ids = [story.id(n) for n in range(4)]
        log.append(RUN, fence, [
            story.create(1, parents=[(ids[0], "inspiration"), (ids[0], "parent")]),
            story.create(2, parents=[(ids[0], "parent"), (ids[1], "inspiration")]),
            story.create(3, parents=[(ids[1], "parent"), (ids[2], "crossover")]),
        ])  # fmt: skip
        assert [record.proposal_number for record in reader.ancestors(ids[3])] == [3, 1, 0]
        assert [record.proposal_number for record in reader.ancestors(ids[0])] == [0]

    def test_children_have_it_as_parent_and_not_as_inspiration(
        self, log: RunLog, reader: RunReader, story: Story
    ) -> None:
        fence = begin(log, story)
        seed, first = story.id(0), story.id(1)
        log.append(RUN, fence, [
            story.create(3, parents=[(seed, "parent")]),
            story.create(1, parents=[(seed, "parent"), (seed, "inspiration")]),
            story.create(2, parents=[(first, "parent"), (seed, "inspiration")]),
            story.create(4, parents=[(first, "parent"), (seed, "crossover")]),
        ])  # fmt: skip
        assert [record.proposal_number for record in reader.children(seed)] == [1, 3, 4]
        assert [record.proposal_number for record in reader.children(seed, after=(1, 0), limit=1)] == [3]
        assert reader.children(story.id(2)) == []

    def test_a_long_line_is_read_whole(self, log: RunLog, reader: RunReader, story: Story) -> None:
        fence = begin(log, story)
        log.append(RUN, fence, [story.create(n, parents=[(story.id(n - 1), "parent")]) for n in range(1, 1201)])
        assert [record.proposal_number for record in reader.ancestors(story.id(1200))] == list(range(1200, -1, -1))


class TestMemberships:
    def test_insertion_displacement_and_reset_move_members(self, log: RunLog, reader: RunReader, story: Story) -> None:
        fence = begin(log, story)
        seed, child = story.id(0), story.id(1)
        log.append(RUN, fence, [*story.child(1, seed), story.insert(child, 0, "improved", [seed])])
        assert islands(reader, seed, child) == [[], [0]]
        log.append(RUN, fence, [story.insert(child, 1), story.insert(seed, 1, "new_cell")])
        assert islands(reader, seed, child) == [[1], [0, 1]]
        reset = story.tell(EventKind.ISLAND_RESET, island=1, survivor=child, displaced=[child, seed])
        log.append(RUN, fence, [reset, story.insert(child, 1)])
        assert islands(reader, seed, child) == [[], [0, 1]]

    @pytest.mark.parametrize("status", ["dominated", "full", "duplicate"])
    def test_what_is_not_kept_is_no_member_and_may_displace_all_the_same(
        self, log: RunLog, reader: RunReader, story: Story, status: str
    ) -> None:
        fence = begin(log, story)
        log.append(RUN, fence, [*story.child(1, story.id(0)), story.insert(story.id(1), 0, status, [story.id(0)])])
        assert islands(reader, story.id(0), story.id(1)) == [[], []]

    def test_members_may_come_and_go_within_a_batch(self, log: RunLog, reader: RunReader, story: Story) -> None:
        fence = begin(log, story)
        seed, child = story.id(0), story.id(1)
        log.append(RUN, fence, [
            *story.child(1, seed),
            story.insert(child, 0, "improved", [seed]),
            story.insert(seed, 0, "improved", [child]),
            story.insert(child, 0, "added"),
        ])  # fmt: skip
        assert islands(reader, seed, child) == [[0], [0]]


class TestProposals:
    def test_an_answered_proposal_is_shown_whole(self, log: RunLog, reader: RunReader, story: Story) -> None:
        fence = begin(log, story)
        asked, answered = (
            story.propose(1, story.id(0)),
            story.answer(1, parts=("shared \x00\n", "own"), text="\ud800<a>"),
        )
        log.append(RUN, fence, [asked])
        assert reader.proposal(RUN, 1).state == "asked"
        log.append(RUN, fence, [answered])
        found = reader.proposal(RUN[:12], 1)
        assert (found.state, found.operator, found.selection, found.policy) == (
            "answered",
            "mutate",
            "dirichlet",
            "syntax",
        )
        assert found.weights == [0.25, 0.75]
        assert (found.probability, found.rationale) == (0.7, WHY)
        assert found.prompt == [{"role": "user", "content": "shared \x00\nown"}]
        assert found.completions == ["\ud800<a>"]
        assert found.finish_reasons == ["stop"]
        assert found.dropped == [{"chain": 0, "reason": "the last answer was cut off"}]
        assert (found.tokens_input, found.tokens_cached, found.tokens_output, found.seconds) == (100, 60, 40, 1.5)
        assert (found.created_at, found.answered_at) == (asked.at, answered.at)

    def test_a_proposal_keeps_the_form_in_which_it_was_asked(
        self, log: RunLog, reader: RunReader, story: Story
    ) -> None:
        fence = begin(log, story)
        form = ReplyForm(format="single", edits="diff", answers=1, samples=2)
        log.append(RUN, fence, [story.propose(1, story.id(0), form=form), story.propose(2, story.id(0))])
        assert [one.form for one in reader.proposals(RUN)] == [form.as_json(), None]

    @pytest.mark.parametrize("together", [True, False])
    def test_a_proposal_keeps_what_was_thought_before_its_text(
        self, log: RunLog, reader: RunReader, story: Story, together: bool
    ) -> None:
        fence = begin(log, story)
        told = [story.propose(1, story.id(0)), story.answer(1, reasoning=["hm \x00\ud800"])]
        for batch in [told] if together else [told[:1], told[1:]]:
            log.append(RUN, fence, batch)
        assert reader.proposal(RUN, 1).reasoning == ["hm \x00\ud800"]
        assert [list(one.reasoning) for one in reader.proposals(RUN, texts=False)] == [[]]

    @pytest.mark.parametrize("together", [True, False])
    def test_a_proposal_tells_what_was_paid_beside(
        self, log: RunLog, reader: RunReader, story: Story, together: bool
    ) -> None:
        fence = begin(log, story)
        charge = Charge(policy="judge", purpose="review", usage=Usage(input=7, cached=2, output=3), seconds=0.5)
        told = [story.propose(1, story.id(0)), story.answer(1, charges=[charge])]
        for batch in [told] if together else [told[:1], told[1:]]:
            log.append(RUN, fence, batch)
        found = reader.proposal(RUN, 1)
        tokens = {"input": 7, "cached": 2, "output": 3}
        assert found.charges == [
            {"policy": "judge", "purpose": "review", "tokens": tokens, "cost": None, "seconds": 0.5}
        ]
        assert found.tokens_input == 100
        counters = reader.run(RUN).counters
        assert (counters.tokens_input, counters.tokens_cached, counters.tokens_output) == (107, 62, 43)
        assert counters.cost is None

    @pytest.mark.parametrize("together", [True, False])
    def test_a_failed_proposal_says_why(self, log: RunLog, reader: RunReader, story: Story, together: bool) -> None:
        fence = begin(log, story)
        told = [
            story.propose(1, story.id(0)),
            story.tell(EventKind.PROPOSAL_FAILED, proposal_number=1, reason="it refused"),
        ]
        for batch in [told] if together else [told[:1], told[1:]]:
            log.append(RUN, fence, batch)
        found = reader.proposal(RUN, 1)
        assert (found.state, found.reason, found.completions) == ("failed", "it refused", [])

    def test_no_proposal_of_that_number_is_not_found(self, log: RunLog, reader: RunReader) -> None:
        log.create(new_run())
        with pytest.raises(NotFoundError):
            reader.proposal(RUN, 1)


def islands(reader: RunReader, *candidates: str) -> list[list[int]]:
    return [list(reader.candidate(candidate).islands) for candidate in candidates]

"""Filters, counts and pages of every RunReader: a walk sees every row once, and a count is as long as its walk."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from evolve.events import EventKind
from service.errors import NotFoundError
from service.ports import ALL_CANDIDATES, CandidateFilter, CandidateRecord, RunFilter, RunLog, RunReader, RunRecord
from tests.contract.story import RUN, START, Story, new_run
from tests.contract.test_run_log import begin, reject

TOO_LONG = "it ran longer than 20 seconds"
FILTERS = {
    "all": ALL_CANDIDATES,
    "pending": CandidateFilter(status="pending"),
    "evaluated": CandidateFilter(status="evaluated"),
    "rejected": CandidateFilter(status="rejected"),
    "timeout": CandidateFilter(outcome="timeout"),
    "island": CandidateFilter(island=1),
    "seed": CandidateFilter(operator="seed"),
    "mutate": CandidateFilter(operator="mutate"),
    "policy": CandidateFilter(policy="syntax"),
    "proposal_number": CandidateFilter(proposal_number=4),
    "reason": CandidateFilter(reasons=(TOO_LONG, "another reason")),
    "reason of no evaluation": CandidateFilter(status="rejected", reasons=("the SEARCH block is not in the parent",)),
    "several": CandidateFilter(status="evaluated", outcome="ok", island=0, operator="mutate"),
    "none": CandidateFilter(status="evaluating"),
    "none of no reasons": CandidateFilter(reasons=()),
}


def fits(record: CandidateRecord, only: CandidateFilter) -> bool:
    asked = {
        name: wanted
        for name in ("status", "outcome", "island", "operator", "policy", "proposal_number")
        if (wanted := getattr(only, name)) not in ("", None)
    }
    alike = only.reasons is None or record.reason in only.reasons
    return alike and all(getattr(record, name) == wanted for name, wanted in asked.items())


@pytest.fixture
def mixed(log: RunLog, story: Story) -> Story:
    """Candidates of every status, with many that are equally good."""
    fence = begin(log, story)
    seed = story.id(0)
    for number, fitness in enumerate([2.0, None, 2.0, 1.0, 3.0, 2.0, None, 2.0, 1.0], start=1):
        log.append(RUN, fence, story.child(number, seed, fitness))
    log.append(RUN, fence, [story.propose(10, seed, island=1), story.create(10, island=1), reject(story, 10, 1)])
    evaluated = [story.create(10, 2, island=1), story.evaluate(story.id(10, 2), 2.0)]
    log.append(RUN, fence, evaluated)
    return story


def walk(reader: RunReader, only: CandidateFilter, size: int) -> list[CandidateRecord]:
    seen: list[CandidateRecord] = []
    while page := reader.candidates(
        RUN, (seen[-1].proposal_number, seen[-1].position) if seen else (-1, -1), size, only
    ):
        assert len(page) <= size
        seen += page
    return seen


def walk_best(reader: RunReader, only: CandidateFilter, size: int) -> list[CandidateRecord]:
    seen: list[CandidateRecord] = []
    after: tuple[float, int, int] | None = None
    while page := reader.best(RUN, size, after, only):
        assert len(page) <= size
        seen += page
        last = page[-1]
        assert last.fitness is not None
        after = (last.fitness, last.proposal_number, last.position)
    return seen


class TestCandidates:
    @pytest.mark.usefixtures("mixed")
    @pytest.mark.parametrize("name", FILTERS)
    def test_a_filtered_walk_sees_each_that_fits_once_and_its_count_agrees(self, reader: RunReader, name: str) -> None:
        only = FILTERS[name]
        expected = [record.id for record in reader.candidates(RUN, limit=200) if fits(record, only)]
        assert bool(expected) == (not name.startswith("none"))
        for size in (1, 3, 50):
            assert [record.id for record in walk(reader, only, size)] == expected
        assert reader.count_candidates(RUN, only) == len(expected)

    @pytest.mark.usefixtures("mixed")
    @pytest.mark.parametrize("name", ["all", "island", "mutate", "timeout"])
    @pytest.mark.parametrize("size", [1, 2, 50])
    def test_a_walk_over_a_ranking_sees_each_once_best_first_and_among_equals_the_oldest(
        self, reader: RunReader, name: str, size: int
    ) -> None:
        only = FILTERS[name]
        ranked = [r for r in reader.candidates(RUN, limit=200) if r.fitness is not None and fits(r, only)]
        expected = sorted(ranked, key=lambda r: (-(r.fitness or 0.0), r.proposal_number, r.position))
        assert [record.id for record in walk_best(reader, only, size)] == [record.id for record in expected]

    def test_named_candidates_come_in_the_order_asked_for(self, reader: RunReader, mixed: Story) -> None:
        wanted = [mixed.id(3), "cnd_of_nobody", mixed.id(1), "\x00", "\udc80", mixed.id(10, 1)]
        assert [record.id for record in reader.named(wanted)] == [wanted[0], wanted[2], wanted[5]]
        assert reader.named([]) == []

    def test_a_run_that_is_not_there_has_no_pages(self, reader: RunReader) -> None:
        for ask in (reader.candidates, reader.count_candidates, reader.best, reader.proposals, reader.memberships):
            with pytest.raises(NotFoundError):
                ask("run_ffffffff")
        for start in (reader.events, reader.scored):
            with pytest.raises(NotFoundError):
                start("run_ffffffff")


class TestRuns:
    def tell(self, log: RunLog) -> list[str]:
        """Six runs of two problems, one minute apart but for two of one moment; the newest first."""
        ids = [f"run_{n:032x}" for n in range(6)]
        for age, run_id in enumerate(ids):
            log.create(
                new_run(
                    run_id,
                    created_at=START - timedelta(minutes=age // 2),
                    problem_name="packing" if age % 2 else "other",
                    batch_id="bat_1" if age < 3 else "",
                    created_by="alice' OR 1=1" if age in (2, 5) else "",
                    labels={"team": "a" if age % 3 else "b", 'odd "$.key\x00': "1"} if age else {},
                )
            )
        for run_id in ids[:2]:
            fence = log.take(run_id, "runner-1", 60)
            log.append(run_id, fence, [Story(run_id).tell(EventKind.RUN_STARTED)])
        return [ids[n] for n in (1, 0, 3, 2, 5, 4)]

    @pytest.mark.parametrize(
        "only",
        [
            RunFilter(),
            RunFilter(states=("running",)),
            RunFilter(states=("running", "queued")),
            RunFilter(states=("failed",)),
            RunFilter(problem="packing"),
            RunFilter(batch_id="bat_1"),
            RunFilter(batch_id="bat_\x00"),
            RunFilter(created_by="alice' OR 1=1"),
            RunFilter(created_by="nobody"),
            RunFilter(labels={"team": "a"}),
            RunFilter(labels={"team": "b", 'odd "$.key\x00': "1"}),
            RunFilter(labels={"team": "c"}),
            RunFilter(states=("queued",), problem="packing", labels={"team": "b"}),
        ],
        ids=lambda only: "-".join(str(getattr(only, name)) for name in only.__slots__ if getattr(only, name)) or "all",
    )
    def test_a_filtered_walk_sees_each_that_fits_once_and_its_count_agrees(
        self, log: RunLog, reader: RunReader, only: RunFilter
    ) -> None:
        order = self.tell(log)
        expected = [run.id for run in map(reader.run, order) if self.fits(run, only)]
        for size in (1, 2, 50):
            seen: list[RunRecord] = []
            while page := reader.runs(size, (seen[-1].created_at, seen[-1].id) if seen else None, only):
                seen += page
            assert [run.id for run in seen] == expected
        assert reader.count_runs(only) == len(expected)

    @staticmethod
    def fits(run: RunRecord, only: RunFilter) -> bool:
        return (
            (not only.states or run.state in only.states)
            and only.problem in ("", run.problem_name)
            and only.batch_id in ("", run.batch_id)
            and only.created_by in ("", run.created_by)
            and only.labels.items() <= run.labels.items()
        )

    def test_a_run_comes_back_with_all_that_it_was_created_from(self, log: RunLog, reader: RunReader) -> None:
        measures = [{"name": "depth", "bins": 10, "low": 0.0, "high": None}]
        log.create(new_run(measures=measures, labels={"a": "b"}, batch_id="bat_1", fork_of="cnd_1"))
        run = reader.run(RUN)
        assert (run.measures, run.labels, run.batch_id, run.fork_of) == (measures, {"a": "b"}, "bat_1", "cnd_1")
        assert (run.revision, run.desired_budget, run.paused_at) == (0, {}, None)
        assert run.problem_id.startswith("prb_")

    def test_a_run_of_no_batch_that_is_no_fork_names_none(self, log: RunLog, reader: RunReader) -> None:
        log.create(new_run())
        run = reader.run(RUN)
        assert (run.measures, run.labels, run.batch_id, run.fork_of) == ([], {}, "", "")

    def test_the_last_pause_is_remembered(self, log: RunLog, reader: RunReader, story: Story) -> None:
        fence = begin(log, story)
        first, _, last, _ = told = [
            story.tell(kind, by="me")
            for kind in (EventKind.RUN_PAUSED, EventKind.RUN_RESUMED, EventKind.RUN_PAUSED, EventKind.RUN_RESUMED)
        ]
        log.append(RUN, fence, told[:2])
        assert reader.run(RUN).paused_at == first.at
        log.append(RUN, fence, told[2:])
        assert (reader.run(RUN).paused_at, reader.run(RUN).state) == (last.at, "running")


class TestProposals:
    def test_a_walk_sees_each_once_without_its_texts(self, reader: RunReader, mixed: Story) -> None:
        seen: list[int] = []
        while page := reader.proposals(RUN, seen[-1] if seen else -1, limit=4):
            assert all((proposal.prompt, proposal.completions) == ([], []) for proposal in page)
            seen += [proposal.number for proposal in page]
        assert seen == list(range(1, 11))
        [asked] = reader.proposals(RUN, state="asked")
        assert (asked.number, asked.id) == (10, reader.proposal(RUN, 10).id)
        assert len(reader.proposals(RUN, state="answered")) == 9
        with_parts = [one.number for one in reader.proposals(RUN, limit=200) if one.dropped]
        assert with_parts
        assert [one.number for one in reader.proposals(RUN, limit=200, state="unreadable")] == with_parts
        every = [(proposal.number, list(proposal.finish_reasons)) for proposal in reader.proposals(RUN)]
        assert {reasons[0] for _, reasons in every if reasons} == {"stop"}
        first = reader.finish_reasons(RUN, limit=4)
        rest = reader.finish_reasons(RUN, after=first[-1][0], limit=50)
        assert (len(first), [(number, list(reasons)) for number, reasons in first + rest]) == (4, every)
        assert reader.proposal_numbers([mixed.id(3), mixed.id(7), "cnd_none"]) == {mixed.id(3): 3, mixed.id(7): 7}
        assert mixed.id(0) in {edge.candidate_id for edge in reader.candidate(mixed.id(3)).parents}


class TestLineage:
    """Numbers are drawn as they descend: 0 over 1 and 2; 3 from both; 4 from 3; 5 apart, inspired by all."""

    @pytest.fixture
    def family(self, log: RunLog, story: Story) -> list[str]:
        fence = begin(log, story)
        ids = [story.id(number) for number in range(6)]
        log.append(RUN, fence, [
            story.create(2, parents=[(ids[0], "parent")]),
            story.create(1, parents=[(ids[0], "parent")]),
            story.create(3, parents=[(ids[1], "parent"), (ids[2], "crossover")]),
            story.create(4, parents=[(ids[3], "parent"), (ids[0], "inspiration")]),
            story.create(5, parents=[(other, "inspiration") for other in ids[:5]]),
        ])  # fmt: skip
        return ids

    def numbers(self, records: Sequence[CandidateRecord]) -> list[int]:
        return [record.proposal_number for record in records]

    def test_descendants_come_by_age_and_once(self, reader: RunReader, family: list[str]) -> None:
        assert self.numbers(reader.descendants(family[0])) == [1, 2, 3, 4]
        assert self.numbers(reader.descendants(family[0], limit=2)) == [1, 2]
        assert self.numbers(reader.descendants(family[2])) == [3, 4]
        assert reader.descendants(family[5]) == []

    def test_a_path_goes_down_the_shortest_way(self, reader: RunReader, family: list[str]) -> None:
        assert self.numbers(reader.path(family[0], family[4])) == [0, 1, 3, 4]
        assert self.numbers(reader.path(family[2], family[4])) == [2, 3, 4]
        assert self.numbers(reader.path(family[3], family[3])) == [3]

    @pytest.mark.parametrize(("above", "below"), [(4, 0), (1, 2), (0, 5)])
    def test_there_is_no_path_up_or_aside_or_over_inspirations(
        self, reader: RunReader, family: list[str], above: int, below: int
    ) -> None:
        assert reader.path(family[above], family[below]) == []

    def test_a_shortcut_is_taken(self, log: RunLog, reader: RunReader, story: Story) -> None:
        fence = begin(log, story)
        chain = [story.create(n, parents=[(story.id(n - 1), "parent")]) for n in range(1, 30)]
        both = [(story.id(29), "parent"), (story.id(2), "crossover")]
        log.append(RUN, fence, [*chain, story.create(30, parents=both)])
        assert self.numbers(reader.path(story.id(0), story.id(30))) == [0, 1, 2, 30]


class TestMembers:
    def test_members_stand_by_island_and_the_fittest_first(self, log: RunLog, reader: RunReader, story: Story) -> None:
        fence = begin(log, story)  # the seed, of fitness 1, is in island 0
        for number, fitness in enumerate([2.0, 3.0, 3.0], start=1):
            log.append(RUN, fence, story.child(number, story.id(0), fitness))
        joined = [story.insert(story.id(n)) for n in (3, 1)]
        aside = [story.insert(story.id(2), 1), story.insert(story.id(0), 1)]
        left = story.insert(story.id(2), 0, "improved", [story.id(0)])
        log.append(RUN, fence, [*joined, *aside, left])
        found = [(m.island, m.candidate_id, m.since, m.until, m.fitness) for m in reader.memberships(RUN)]
        assert found == [
            (0, story.id(2), left.sequence, None, 3.0),
            (0, story.id(3), joined[0].sequence, None, 3.0),
            (0, story.id(1), joined[1].sequence, None, 2.0),
            (1, story.id(2), aside[0].sequence, None, 3.0),
            (1, story.id(0), aside[1].sequence, None, 1.0),
        ]
        assert [m.candidate_id for m in reader.memberships(RUN, 1)] == [story.id(2), story.id(0)]
        assert reader.memberships(RUN, 7) == []

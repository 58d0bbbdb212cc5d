"""A search in sources finds what a plain comparison finds, in the order of the list, on every database."""

import re

import pytest
from sqlalchemy import event

from evolve.program import Program
from service.db import search
from service.db.engine import Database
from service.db.reader import SqlRunReader
from service.errors import NotFoundError
from service.ports import CandidateFilter, CandidateKey, RunLog, RunReader, SearchResult
from tests.contract.story import RUN, START, Story, new_run
from tests.contract.test_run_log import begin, reject

SOURCES = [
    "def solve(x):\n    return 100 % x_1  # Größe\n",
    "DEF SOLVE(X):\n    return '\\n'\n",
    "# é \u2028 \U0001f600 50%\nx1 = 'a!b'\n",
    'a = """c:\\new\\u00e9"""\n# ÉTÉ\n',
    "tab\t= '\x7f'\n",
]
NEEDLES = [
    "solve", "SOLVE", "x_1", "x1", "% x", "%", "_", "100 % x_1", "!", "a!b", "\\n", "\n", "n", "u00e9", "\\u00e9", "é",
    "É", "été", "GRÖSSE", "größe", "GRÖßE", "\u2028", "\U0001f600", "\"", "'", '"""', "--", "1=1", "nowhere", " ",
    "'; drop table programs; --", ".*", "[", "\t", "\x7f", "\udc80", "\x00",
]  # fmt: skip


@pytest.fixture
def told(log: RunLog, story: Story) -> Story:
    fence = begin(log, story)
    events = [story.create(1, place, program=Program.of({"a.py": text})) for place, text in enumerate(SOURCES)]
    twice = Program.of({"first.py": "x = 1\n", "second.py": "solve()\n"})
    events += [story.create(2, program=twice), story.create(2, 1, program=twice), reject(story, 2, 2)]
    scores = [story.evaluate(story.id(1, place), float(place % 3)) for place in range(len(SOURCES))]
    log.append(RUN, fence, [*events, *scores, story.evaluate(story.id(2), 9.0)])
    return story


def walk(reader: RunReader, text: str, size: int = 50, *, ranked: bool = False) -> list[str]:
    ids: list[str] = []
    after: CandidateKey | None = None
    while True:
        found: SearchResult = reader.search(RUN, text, size, after, ranked=ranked)
        assert len(found.candidates) <= size
        ids += [one.id for one in found.candidates]
        if found.reached is None:
            return ids
        after = found.reached


def expected(reader: RunReader, text: str) -> list[str]:
    rows = reader.candidates(RUN, limit=200)
    sources = reader.programs([row.id for row in rows])
    return [
        row.id
        for row in rows
        if row.id in sources and any(text.lower() in content.lower() for _, content in sources[row.id].files)
    ]


class TestSearch:
    def test_it_finds_what_holds_the_text_as_it_stands_and_nothing_else(self, reader: RunReader, told: Story) -> None:
        found = {text: walk(reader, text) for text in NEEDLES}
        assert found == {text: expected(reader, text) for text in NEEDLES}

    def test_some_needles_are_there(self, reader: RunReader, told: Story) -> None:
        assert walk(reader, "solve") == [told.id(1), told.id(1, 1), told.id(2), told.id(2, 1)]
        assert walk(reader, "x_1") == [told.id(1)]
        assert walk(reader, "été") == [told.id(1, 3)]
        assert walk(reader, "first.py") == []  # a name of a file is not text in it

    def test_a_walk_in_small_portions_sees_each_once(
        self, reader: RunReader, told: Story, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole, ranked = walk(reader, "e"), walk(reader, "e", ranked=True)
        assert len(whole) == 5
        assert ranked == [one.id for one in reader.best(RUN, 50) if one.id in whole]
        monkeypatch.setattr(search, "MAX_LOOKED_THROUGH", 2)
        for size in (1, 2, 50):
            assert walk(reader, "e", size) == whole
            assert walk(reader, "e", size, ranked=True) == ranked

    def test_one_call_looks_through_no_more_than_its_portion(
        self, reader: RunReader, told: Story, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(search, "MAX_LOOKED_THROUGH", 3)
        assert reader.search(RUN, "second") == SearchResult(candidates=[], reached=(1, 1))
        assert reader.search(RUN, "solve()", after=(1, 4)).reached is None

    def test_other_filters_hold_too(self, reader: RunReader, told: Story) -> None:
        only = CandidateFilter(proposal_number=2, outcome="ok")
        assert [one.id for one in reader.search(RUN, "SOLVE", only=only).candidates] == [told.id(2)]

    def test_texts_of_other_runs_are_never_read(self, database: Database, log: RunLog, told: Story) -> None:
        other = Story("run_0190aaaa000000000000000000000002")
        log.create(new_run(other.run_id, tenant="default", created_at=START))
        fence = log.take(other.run_id, "runner-2", 60)
        log.append(other.run_id, fence, [other.create(0, program=Program.of({"b.py": "solve('secret')\n"}))])
        asked: list[str] = []

        def note(_: object, __: object, statement: str, parameters: object, *___: object) -> None:
            asked.append(f"{statement} {parameters}")

        reads = database.reads or database.engine
        event.listen(reads, "before_cursor_execute", note)
        mine = SqlRunReader(database, "default").search(RUN, "solve")
        event.remove(reads, "before_cursor_execute", note)
        assert len(mine.candidates) == 4
        texts = [one for one in asked if "programs.files" in one]
        # They are named by their ids, one by one: the database has no reason to look at another.
        assert texts
        assert all(re.search(r"programs\.id IN", one) for one in texts)
        assert not any(other.programs[other.id(0)].id in one for one in texts)

    def test_a_run_of_others_is_not_there(self, database: Database, told: Story) -> None:
        with pytest.raises(NotFoundError):
            SqlRunReader(database, "somebody").search(RUN, "solve")

"""What every Annotations and every Shares holds."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from service.db.annotations import SqlAnnotations, SqlShares
from service.db.engine import Database
from service.db.keys import SqlKeyStore
from service.errors import NotFoundError
from service.ports import Annotations, KeyRecord, Note, Pin, RunLog, SavedFilter, Share, Shares
from tests.contract.story import RUN, START, Story, new_run

OTHER = "run_0190bbbb000000000000000000000002"
LATER = START + timedelta(hours=1)


@pytest.fixture
def mine(database: Database, log: RunLog, story: Story) -> Annotations:
    """Annotations of a tenant with two runs, each with a seed."""
    for run_id in (RUN, OTHER):
        log.create(new_run(run_id))
        log.append(run_id, log.take(run_id, "runner-1", 60), (story if run_id == RUN else Story(run_id)).seed())
    return SqlAnnotations(database, "default")


@pytest.fixture
def theirs(database: Database) -> Annotations:
    SqlKeyStore(database).add(
        KeyRecord(id="key_1", tenant="lab", name="", shown="", scopes=(), created_at=START, created_by=""), "hash"
    )
    return SqlAnnotations(database, "lab")


@pytest.fixture
def shares(database: Database) -> Shares:
    return SqlShares(database)


def note(number: int = 1, **changes: Any) -> Note:
    fields: dict[str, Any] = {
        "id": f"nte_{number}",
        "run_id": RUN,
        "candidate_id": "",
        "body": "look \x00 here \ud800",
        "author": "key_1",
        "created_at": START,
        "updated_at": START,
    }
    return Note(**(fields | changes))


def pin(candidate_id: str, **changes: Any) -> Pin:
    fields: dict[str, Any] = {"run_id": RUN, "candidate_id": candidate_id, "author": "key_1", "created_at": START}
    return Pin(**(fields | changes))


def saved_filter(number: int = 1, **changes: Any) -> SavedFilter:
    fields: dict[str, Any] = {
        "id": f"viw_{number}",
        "tenant": "default",
        "run_id": RUN,
        "name": "mine",
        "settings": {"columns": ["fitness"], "island": None},
        "created_at": START,
    }
    return SavedFilter(**(fields | changes))


def share(number: int = 1, **changes: Any) -> Share:
    fields: dict[str, Any] = {
        "id": f"shr_{number}",
        "tenant": "default",
        "run_id": RUN,
        "created_by": "key_1",
        "created_at": START,
        "expires_at": LATER,
    }
    return Share(**(fields | changes))


class TestNotes:
    def test_a_note_comes_back_as_it_went_in(self, mine: Annotations, story: Story) -> None:
        written = [note(1), note(2, candidate_id=story.id(0))]
        for one in written:
            mine.add_note(one)
        mine.add_note(note(3, run_id=OTHER))
        assert mine.notes(RUN) == written

    def test_notes_come_by_age_a_page_at_a_time(self, mine: Annotations) -> None:
        for number in (2, 3, 1):
            mine.add_note(note(number))
        assert [one.id for one in mine.notes(RUN, limit=2)] == ["nte_1", "nte_2"]
        assert [one.id for one in mine.notes(RUN, after="nte_2")] == ["nte_3"]

    def test_notes_about_one_candidate_are_found_among_the_others(self, mine: Annotations, story: Story) -> None:
        about = story.id(0)
        for number in range(1, 6):
            mine.add_note(note(number, candidate_id=about if number % 2 else ""))
        assert [one.id for one in mine.notes(RUN, candidate_id=about)] == ["nte_1", "nte_3", "nte_5"]
        assert [one.id for one in mine.notes(RUN, after="nte_1", limit=1, candidate_id=about)] == ["nte_3"]
        assert mine.notes(RUN, candidate_id=story.id(1)) == []

    def test_a_changed_note_keeps_who_wrote_it_and_when(self, mine: Annotations) -> None:
        mine.add_note(note())
        changed = mine.edit_note(RUN, "nte_1", "no, there", LATER)
        assert changed == note(body="no, there", updated_at=LATER)
        assert mine.notes(RUN) == [changed]

    def test_a_removed_note_is_gone(self, mine: Annotations) -> None:
        mine.add_note(note())
        mine.remove_note(RUN, "nte_1")
        assert mine.notes(RUN) == []
        with pytest.raises(NotFoundError, match="no note"):
            mine.remove_note(RUN, "nte_1")

    def test_a_note_is_of_its_run(self, mine: Annotations) -> None:
        mine.add_note(note())
        with pytest.raises(NotFoundError, match="no note"):
            mine.edit_note(OTHER, "nte_1", "x", LATER)
        with pytest.raises(NotFoundError, match="no note"):
            mine.remove_note(OTHER, "nte_1")
        assert mine.notes(RUN) == [note()]

    @pytest.mark.parametrize("candidate", ["cnd_0", "\x00", Story(OTHER).id(0)])
    def test_a_candidate_is_of_its_run(self, mine: Annotations, candidate: str) -> None:
        with pytest.raises(NotFoundError, match="no candidate"):
            mine.add_note(note(candidate_id=candidate))
        with pytest.raises(NotFoundError, match="no candidate"):
            mine.pin(pin(candidate))
        assert (mine.notes(RUN), mine.pins(RUN)) == ([], [])


class TestPins:
    def test_pinning_again_changes_nothing(self, mine: Annotations, story: Story) -> None:
        mine.pin(pin(story.id(0)))
        mine.pin(pin(story.id(0), author="key_2", created_at=LATER))
        assert mine.pins(RUN) == [pin(story.id(0))]

    def test_a_pin_is_taken_away_once_for_all(self, mine: Annotations, story: Story) -> None:
        mine.pin(pin(story.id(0)))
        for _ in range(2):
            mine.unpin(RUN, story.id(0))
        assert mine.pins(RUN) == []

    def test_nothing_is_no_candidate(self, mine: Annotations) -> None:
        with pytest.raises(NotFoundError, match="no candidate"):
            mine.pin(pin(""))


class TestViews:
    def test_saved_filters_of_a_run_and_of_none_are_told_apart(self, mine: Annotations) -> None:
        mine.save_filter(saved_filter(1))
        mine.save_filter(saved_filter(2, run_id=""))
        mine.save_filter(saved_filter(3, run_id=OTHER))
        assert mine.saved_filters(RUN) == [saved_filter(1)]
        assert mine.saved_filters() == [saved_filter(2, run_id="")]

    def test_saved_filters_come_by_age_a_page_at_a_time(self, mine: Annotations) -> None:
        for number in (3, 1, 2):
            mine.save_filter(saved_filter(number))
        assert [one.id for one in mine.saved_filters(RUN, limit=2)] == ["viw_1", "viw_2"]
        assert [one.id for one in mine.saved_filters(RUN, after="viw_2")] == ["viw_3"]

    def test_a_removed_filter_is_gone(self, mine: Annotations) -> None:
        mine.save_filter(saved_filter())
        mine.remove_filter("viw_1")
        assert mine.saved_filters(RUN) == []
        with pytest.raises(NotFoundError, match="no saved filter"):
            mine.remove_filter("viw_1")


class TestShares:
    def test_a_share_is_found_by_its_hash_alone(self, mine: Annotations, shares: Shares) -> None:
        mine.add_share(share(), "hash-1")
        assert shares.find("hash-1") == share()
        assert [shares.find(other) for other in ("shr_1", "", "HASH-1", "a\x00")] == [None] * 4

    def test_shares_of_a_run_come_by_age(self, mine: Annotations) -> None:
        for number in (2, 1):
            mine.add_share(share(number), f"hash-{number}")
        mine.add_share(share(3, run_id=OTHER), "hash-3")
        assert [one.id for one in mine.shares(RUN)] == ["shr_1", "shr_2"]

    def test_a_revoked_share_stays_revoked_since_the_first_time(self, mine: Annotations, shares: Shares) -> None:
        mine.add_share(share(), "hash-1")
        for at in (START, LATER):
            mine.revoke_share(RUN, "shr_1", at)
        assert shares.find("hash-1") == share(revoked_at=START)
        assert mine.shares(RUN) == [share(revoked_at=START)]

    @pytest.mark.parametrize(("run_id", "share_id"), [(OTHER, "shr_1"), (RUN, "shr_2"), (RUN, "\x00")])
    def test_a_share_is_of_its_run(self, mine: Annotations, shares: Shares, run_id: str, share_id: str) -> None:
        mine.add_share(share(), "hash-1")
        with pytest.raises(NotFoundError, match="no share"):
            mine.revoke_share(run_id, share_id, LATER)
        assert shares.find("hash-1") == share()


_SEED = Story().id(0)
_ACTS: dict[str, Callable[[Annotations], Any]] = {
    "add_note": lambda doors: doors.add_note(note(2)),
    "edit_note": lambda doors: doors.edit_note(RUN, "nte_1", "x", LATER),
    "notes": lambda doors: doors.notes(RUN),
    "remove_note": lambda doors: doors.remove_note(RUN, "nte_1"),
    "pin": lambda doors: doors.pin(pin(_SEED)),
    "unpin": lambda doors: doors.unpin(RUN, _SEED),
    "pins": lambda doors: doors.pins(RUN),
    "save_filter": lambda doors: doors.save_filter(saved_filter(2)),
    "saved_filters": lambda doors: doors.saved_filters(RUN),
    "remove_filter": lambda doors: doors.remove_filter("viw_1"),
    "add_share": lambda doors: doors.add_share(share(2), "hash-2"),
    "shares": lambda doors: doors.shares(RUN),
    "revoke_share": lambda doors: doors.revoke_share(RUN, "shr_1", LATER),
}


class TestTenants:
    def test_every_act_is_tried(self) -> None:
        assert set(_ACTS) == {name for name in vars(Annotations) if not name.startswith("_")}

    @pytest.mark.parametrize("act", _ACTS)
    def test_what_another_tenant_has_is_not_there(
        self, mine: Annotations, theirs: Annotations, shares: Shares, act: str
    ) -> None:
        mine.add_note(note())
        mine.pin(pin(_SEED))
        mine.save_filter(saved_filter())
        mine.add_share(share(), "hash-1")
        with pytest.raises(NotFoundError):
            _ACTS[act](theirs)
        held = (mine.notes(RUN), mine.pins(RUN), mine.saved_filters(RUN), mine.shares(RUN), shares.find("hash-2"))
        assert held == ([note()], [pin(_SEED)], [saved_filter()], [share()], None)

    def test_what_is_stored_is_the_tenant_s_whatever_it_says(
        self, mine: Annotations, theirs: Annotations, shares: Shares
    ) -> None:
        theirs.save_filter(saved_filter(1, run_id="", tenant="default"))
        assert (mine.saved_filters(), [one.tenant for one in theirs.saved_filters()]) == ([], ["lab"])
        mine.add_share(share(tenant="lab"), "hash-1")
        assert shares.find("hash-1") == share(tenant="default")

    @pytest.mark.parametrize("run_id", ["run_0", "", "\x00", "\ud800", RUN[:20]])
    def test_an_unknown_run_is_not_found(self, mine: Annotations, run_id: str) -> None:
        for act in (mine.notes, mine.pins, mine.shares):
            with pytest.raises(NotFoundError, match="no run"):
                act(run_id)

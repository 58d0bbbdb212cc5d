"""What every ProblemStore holds."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from evolve.identity import digest
from service.db.engine import Database
from service.db.keys import SqlKeyStore
from service.db.problems import SqlProblemStore
from service.errors import ConflictError, NotFoundError
from service.ports import Bundle, KeyRecord, NewProblem, ProblemStore, RunLog, RunReader
from tests.contract.story import RUN, START, new_run

DOCUMENT = {"description": "Pack circles", "objectives": [{"name": "sum_radii"}], "search": {}}


@pytest.fixture
def problems(database: Database) -> ProblemStore:
    SqlKeyStore(database).add(
        KeyRecord(id="key_1", tenant="lab", name="", shown="", scopes=(), created_at=START, created_by=""), "hash"
    )
    return SqlProblemStore(database)


def problem(content: bytes = b"one", **changes: Any) -> NewProblem:
    fields: dict[str, Any] = {
        "tenant": "lab",
        "name": "packing",
        "bundle": Bundle(hash=digest(content.hex(), 64), content=content),
        "document": DOCUMENT,
        "created_at": START,
    }
    return NewProblem(**(fields | changes))


def test_a_problem_comes_back_as_it_went_in(problems: ProblemStore) -> None:
    new = problem(name="päck\x00ing")
    stored = problems.add(new)
    assert (stored.tenant, stored.name, stored.version, stored.document, stored.created_at) == (
        "lab",
        "päck\x00ing",
        1,
        DOCUMENT,
        START,
    )
    assert problems.get("lab", stored.id) == stored
    assert problems.bundle(stored.bundle_hash) == new.bundle


def test_the_same_content_under_the_same_name_is_the_same_version(problems: ProblemStore) -> None:
    first = problems.add(problem())
    again = problems.add(problem(document={"description": "another"}, created_at=START + timedelta(days=1)))
    assert again == first
    assert len(problems.problems("lab")) == 1


def test_another_content_is_the_next_version(problems: ProblemStore) -> None:
    versions = [problems.add(problem(content)).version for content in (b"one", b"two", b"one", b"three")]
    assert versions == [1, 2, 1, 3]


def test_the_same_content_under_another_name_is_another_problem(problems: ProblemStore) -> None:
    one, other = problems.add(problem()), problems.add(problem(name="tiling"))
    assert one.id != other.id
    assert (one.version, other.version, one.bundle_hash == other.bundle_hash) == (1, 1, True)


def test_a_problem_is_found_by_id_name_and_version(problems: ProblemStore) -> None:
    first, second = problems.add(problem(b"one")), problems.add(problem(b"two"))
    assert problems.get("lab", first.id) == first
    assert problems.get("lab", "packing") == second
    assert problems.get("lab", "packing@1") == first
    assert problems.get("lab", "packing@2") == second


def test_the_problem_of_a_fork_is_not_the_latest(problems: ProblemStore) -> None:
    submitted = problems.add(problem())
    fork = problems.add(problem(b"two", document=DOCUMENT | {"fork_of": "cnd_1"}))
    assert problems.get("lab", "packing") == submitted
    assert problems.problems("lab") == problems.problems("lab", "packing") == [submitted]
    assert problems.get("lab", fork.id) == problems.get("lab", "packing@2") == fork


def test_a_name_may_look_like_a_version(problems: ProblemStore) -> None:
    odd = problems.add(problem(name="packing@1"))
    problems.add(problem())
    assert problems.get("lab", "packing@1") == odd
    assert problems.get("lab", "packing@1@1") == odd


@pytest.mark.parametrize(
    "given",
    [
        *("", "packing@3", "packing@", "@1", "packing@-1", "packing@1_0", "packing@²", "p\x00", "\ud800", "prb_"),
        "packing@" + "9" * 5000,
    ],
)
def test_what_is_not_there_is_not_found(problems: ProblemStore, given: str) -> None:
    problems.add(problem())
    with pytest.raises(NotFoundError):
        problems.get("lab", given)


@pytest.mark.parametrize("by", [lambda p: p.id, lambda p: p.name, lambda p: f"{p.name}@1"])
def test_a_problem_of_another_tenant_is_not_there(problems: ProblemStore, by: Callable[[Any], str]) -> None:
    stored = problems.add(problem())
    for act in (problems.get, problems.delete):
        with pytest.raises(NotFoundError):
            act("default", by(stored))
    assert problems.problems("default") == []
    with pytest.raises(NotFoundError):
        problems.problems("default", before=stored.id)
    assert problems.get("lab", stored.id) == stored


def test_a_problem_of_no_tenant_is_refused(problems: ProblemStore) -> None:
    with pytest.raises(NotFoundError, match="tenant"):
        problems.add(problem(tenant="nobody"))


def test_problems_come_newest_first_a_page_at_a_time(problems: ProblemStore) -> None:
    stored = [
        problems.add(problem(bytes([number]), name=f"p{number % 2}", created_at=START + timedelta(days=number // 2)))
        for number in range(7)
    ]
    expected = [p.id for p in sorted(stored, key=lambda p: (p.created_at, p.id), reverse=True)]
    seen: list[str] = []
    while page := problems.problems("lab", before=seen[-1] if seen else "", limit=3):
        seen += [p.id for p in page]
    assert seen == expected
    assert [p.id for p in problems.problems("lab", name="p1")] == [stored[n].id for n in (5, 3, 1)]


def test_a_run_is_of_the_stored_version(problems: ProblemStore, log: RunLog, reader: RunReader) -> None:
    stored = problems.add(problem())
    log.create(new_run(tenant="lab", bundle=problem().bundle, document={"description": "another"}))
    assert reader.run(RUN).problem_id == stored.id
    assert problems.problems("lab") == [stored]


def test_a_run_brings_its_problem(problems: ProblemStore, log: RunLog, reader: RunReader) -> None:
    log.create(new_run(tenant="lab", document=DOCUMENT))
    [stored] = problems.problems("lab")
    assert (stored.id, stored.name, stored.document) == (reader.run(RUN).problem_id, "packing", DOCUMENT)


def test_a_version_without_a_document_is_given_one(problems: ProblemStore, log: RunLog) -> None:
    log.create(new_run(tenant="lab", bundle=problem().bundle))
    [before] = problems.problems("lab")
    after = problems.add(problem())
    assert (before.document, after.document, after.id) == ({}, DOCUMENT, before.id)


def test_a_problem_without_runs_can_be_deleted(problems: ProblemStore) -> None:
    kept, stored = problems.add(problem(b"kept")), problems.add(problem())
    problems.delete("lab", stored.id)
    assert problems.problems("lab") == [kept]
    with pytest.raises(NotFoundError):
        problems.delete("lab", stored.id)


def test_a_problem_with_runs_is_kept(problems: ProblemStore, log: RunLog) -> None:
    stored = problems.add(problem())
    log.create(new_run(tenant="lab", bundle=problem().bundle))
    with pytest.raises(ConflictError, match="packing@1 has runs"):
        problems.delete("lab", stored.id)
    assert problems.get("lab", stored.id) == stored


def test_the_folder_of_no_problem_is_not_found(problems: ProblemStore) -> None:
    for unknown in ("", "0" * 64, "a\x00"):
        with pytest.raises(NotFoundError):
            problems.bundle(unknown)


def test_versions_made_at_once_are_numbered_densely(problems: ProblemStore) -> None:
    with ThreadPoolExecutor(4) as pool:
        versions = list(pool.map(lambda n: problems.add(problem(bytes([n]))).version, range(8)))
    assert sorted(versions) == list(range(1, 9))

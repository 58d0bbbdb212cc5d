"""What is wrong with a configuration is told with its place in the request, and with the nearest known key."""

from typing import Any

import httpx
import pytest


def faults(answer: httpx.Response) -> dict[str, str]:
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_configuration"), answer.text
    assert {one["code"] for one in answer.json()["errors"]} == {"invalid_configuration"}
    return {one["pointer"]: one["detail"] for one in answer.json()["errors"]}


@pytest.mark.parametrize(
    ("config", "pointers"),
    [
        ({"iland": 3}, ["/config/iland"]),
        ({"archive": {"knd": "top"}}, ["/config/archive/knd"]),
        ({"archive.kind": "tap"}, ["/config/archive.kind"]),
        ({"budget": {"evaluations": 0}, "strategy": "islans"}, ["/config/budget/evaluations", "/config/strategy"]),
        ({"evaluations": 0}, ["/config/evaluations"]),
        ({"budget": {"evaluations": "ten"}, "islands": "3"}, ["/config/budget/evaluations", "/config/islands"]),
        ({"archive": 3}, ["/config/archive"]),
        ({"a/b~c": 1}, ["/config/a~1b~0c"]),
        ({"selection": {"json:loads": 1.0}}, ["/config/selection"]),
        ({"archive": {"kind": "json:loads"}, "strategy": "os:system"}, ["/config/strategy", "/config/archive/kind"]),
        ({"variants": [{"islands": [0], "selection": {"json:loads": 1.0}}], "islands": 2}, ["/config/variants"]),
    ],
)
@pytest.mark.parametrize("path", ["/v1/runs", "/v1/runs/check"])
async def test_every_complaint_has_its_pointer(
    owner: httpx.AsyncClient, problem: str, path: str, config: dict[str, Any], pointers: list[str]
) -> None:
    found = faults(await owner.post(path, json={"problem": problem, "config": config}))
    assert list(found) == pointers


async def test_pointers_of_a_batch_lead_to_the_run_or_the_sweep(owner: httpx.AsyncClient, problem: str) -> None:
    runs = [{"problem": problem}, {"problem": problem, "config": {"archve": {"kind": "top"}}}]
    assert list(faults(await owner.post("/v1/batches", json={"name": "b", "runs": runs}))) == ["/runs/1/config/archve"]
    sweep = {"problem": problem, "seeds": [1], "config": {"iland": 2}}
    assert list(faults(await owner.post("/v1/batches", json={"name": "b", "sweep": sweep}))) == ["/sweep/config/iland"]


@pytest.mark.parametrize(
    ("config", "nearest"),
    [
        ({"budgets": {"evaluations": 5}}, "budget"),
        ({"archve": {"kind": "top"}}, "archive"),
        ({"inspiration": {"top": 1}}, "inspirations"),
        ({"iland": 3}, "islands"),
        ({"archive": {"knd": "top"}}, "archive.kind"),
    ],
)
async def test_an_unknown_table_or_key_gets_the_nearest_known_one(
    owner: httpx.AsyncClient, problem: str, config: dict[str, Any], nearest: str
) -> None:
    (detail,) = faults(await owner.post("/v1/runs", json={"problem": problem, "config": config})).values()
    assert detail.endswith(f"did you mean {nearest!r}?")


async def test_a_configuration_that_cannot_be_stored_has_the_whole_as_its_place(
    owner: httpx.AsyncClient, problem: str
) -> None:
    asked = {"problem": problem, "config": {"prompt": {"system": "\x00"}}}
    assert list(faults(await owner.post("/v1/runs", json=asked))) == [""]


async def test_an_extension_that_the_operator_does_not_allow_is_refused_with_one_sentence(
    owner: httpx.AsyncClient, problem: str
) -> None:
    found = faults(await owner.post("/v1/runs", json={"problem": problem, "config": {"strategy": "nowhere:Any"}}))
    assert found == {
        "/config/strategy": "the request: the strategy 'nowhere:Any' is not allowed: ask the operator to add it to"
        " the setting extensions.allow"
    }

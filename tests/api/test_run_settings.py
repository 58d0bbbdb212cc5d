"""Settings of active runs over the API: how they stand, who may change them, and what is refused."""

from typing import Any

import httpx
import pytest

from evolve.change_events import SettingsChanged
from evolve.event_codec import encode
from evolve.events import EventKind
from service.ports import Scope
from tests.api.told import Told, bearer, small_run
from tests.api.visiting import visitor
from tests.contract.story import RUN

PATH = f"/v1/runs/{RUN}/settings"


async def test_a_change_waits_for_the_search_with_its_author(told: Told, owner: httpx.AsyncClient) -> None:
    small_run(told)
    given = {"selection.lexicase": 1, "inspirations": {"top": 3}}
    answer = await owner.post(PATH, json={"settings": given})
    assert (answer.status_code, answer.json()["id"]) == (202, RUN)
    [waiting] = told.parts.intents("default").changes(RUN)
    assert isinstance(waiting.data, SettingsChanged)
    assert waiting.data.settings == {"selection": {"lexicase": 1.0}, "inspirations.top": 3}
    assert waiting.data.by
    settings = (await owner.get(PATH)).json()["settings"]
    assert (settings["selection"], settings["inspirations.top"]) == ({"lexicase": 1.0}, 3)
    [change] = (await owner.get(f"/v1/runs/{RUN}/changes")).json()["items"]
    assert (change["kind"], change["at"]) == ("settings.changed", None)
    assert change["settings"] == waiting.data.settings


async def test_the_newest_of_several_changes_stands(told: Told, owner: httpx.AsyncClient) -> None:
    story = small_run(told)
    for number, rate in enumerate((0.5, 0.25)):
        data = SettingsChanged(change_id=f"chg_{number}", by="ada", settings={"migration_rate": rate})
        told.append([story.tell(EventKind.SETTINGS_CHANGED, **encode(data))])
    assert (await owner.get(PATH)).json()["settings"]["migration_rate"] == 0.25
    first, second = (await owner.get(f"/v1/runs/{RUN}/changes")).json()["items"]
    assert (first["settings"], second["settings"]) == ({"migration_rate": 0.25}, {"migration_rate": 0.5})
    assert (first["by"], first["at"] is None) == ("ada", False)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "required"),
        ({"settings": {}}, "at least 1 item"),
        ({"settings": {str(n): 1 for n in range(101)}}, "at most 100 items"),
        ({"settings": {"seed": 2}}, "You can change selection, operators"),
        ({"settings": {"x" * 10_000: 2}}, "cannot change while a run is active"),
        ({"settings": {"budget.evaluations": 10}}, "extend the run to change its budget"),
        ({"settings": {"budget": {"evaluations": 10}}}, "extend the run to change its budget"),
        ({"settings": {"migration_rate": "much"}}, "must be a finite number"),
        ({"settings": {"migration_rate": 1e99}}, "between 0 and 1"),
        ({"settings": {"migration_interval": 10**30}}, "whole number from 0"),
        ({"settings": {"selection": {"nobody": 1}}}, "does not use 'nobody'"),
        ({"settings": {"selection_options.objective_weights.nobody": 1}}, "has no objective 'nobody'"),
        ({"settings": {"policies.nobody": 1}}, "has no policy 'nobody'"),
        ({"settings": {"topology": "ring"}, "n": 1}, "not permitted"),
    ],
)
async def test_what_may_not_change_is_refused(
    told: Told, owner: httpx.AsyncClient, body: dict[str, Any], words: str
) -> None:
    small_run(told)
    answer = await owner.post(PATH, json=body)
    assert answer.status_code == 422, answer.text
    told_words = answer.json()["detail"] + " ".join(fault["detail"] for fault in answer.json().get("errors", ()))
    assert words in told_words
    assert told.parts.intents("default").changes(RUN) == []


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
async def test_a_number_that_is_not_finite_is_refused(told: Told, owner: httpx.AsyncClient, number: str) -> None:
    small_run(told)
    body = f'{{"settings": {{"migration_rate": {number}}}}}'
    answer = await owner.post(PATH, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in {400, 422}, answer.text
    assert told.parts.intents("default").changes(RUN) == []


async def test_the_last_policy_stays(told: Told, owner: httpx.AsyncClient) -> None:
    small_run(told)
    settings = (await owner.get(PATH)).json()["settings"]
    names = [key for key in settings if key.startswith("policies.")]
    assert names
    answer = await owner.post(PATH, json={"settings": dict.fromkeys(names, 0)})
    assert (answer.status_code, "needs a policy" in answer.json()["detail"]) == (422, True)


async def test_an_ended_run_takes_no_change(told: Told, owner: httpx.AsyncClient) -> None:
    story = small_run(told)
    told.append([story.tell(EventKind.RUN_CANCELLED, by="ada")])
    answer = await owner.post(PATH, json={"settings": {"topology": "full"}})
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")


async def test_a_run_of_another_tenant_is_not_there(told: Told, owner: httpx.AsyncClient) -> None:
    del owner
    small_run(told)
    headers = dict(bearer(told.key(tenant="stranger")))
    async with told.client() as client:
        assert (await client.post(PATH, json={"settings": {"topology": "full"}}, headers=headers)).status_code == 404
        assert (await client.get(PATH, headers=headers)).status_code == 404


async def test_it_needs_the_right_to_steer(told: Told, owner: httpx.AsyncClient) -> None:
    small_run(told)
    headers = dict(bearer(told.key(Scope.RUNS_READ, Scope.RUNS_WRITE)))
    answer = await owner.post(PATH, json={"settings": {"topology": "full"}}, headers=headers)
    assert answer.status_code == 403


async def test_the_page_setup_changes_a_setting(told: Told) -> None:
    async with visitor(told) as page:
        small_run(told)
        setup = (await page.get(f"/runs/{RUN}/setup")).text
        assert f'action="/runs/{RUN}/settings"' in setup
        assert "policies." in setup
        overview = (await page.get(f"/runs/{RUN}")).text
        assert "Changes by people" not in overview

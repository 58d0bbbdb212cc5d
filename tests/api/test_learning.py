"""Updates of a policy within its run, on the Policy page and in events."""

from typing import Any

from evolve.change_events import PolicyUpdated
from evolve.event_codec import encode
from evolve.events import EventKind
from evolve.identity import update_id
from service.ports import LoggedEvent
from tests.api.told import Told, small_run
from tests.api.visiting import visitor
from tests.contract.story import RUN, Story

LEARNING = {"strategy": "islands", "budget": {"evaluations": 200}, "learning": {"every": 8, "after": 12}}


def updated(story: Story, number: int, **more: Any) -> LoggedEvent:
    values = {"policy": f"run-1@{number + 1}", "model": "ab" * 32, **more}
    data = PolicyUpdated(
        change_id=update_id(RUN, number), by="", number=number, start="walker", base="walker", answered=8 * number,
        through=8 * number - 1, job=f"trn_{number}", seconds=2.5, **values,
    )  # fmt: skip
    return story.tell(EventKind.POLICY_UPDATED, **encode(data))


async def test_the_policy_page_shows_each_update(told: Told) -> None:
    story = small_run(told, config=LEARNING)
    async with visitor(told) as client:
        before = await client.get(f"/runs/{RUN}/policy")
    figures = {"replies": 64.0, "new": 0.75, "divergence": 0.0421}
    failed = {"policy": "", "model": "", "reason": "<b>no memory</b>"}
    told.append([updated(story, 1, figures=figures), updated(story, 2, **failed)])
    async with visitor(told) as client:
        page = await client.get(f"/runs/{RUN}/policy")
        events = (await client.get(f"/v1/runs/{RUN}/events?kinds=policy.updated")).json()["items"]
    assert "No update yet: the first comes after 12 answered proposals." in before.text
    assert "run-1@2</a>" in page.text
    assert "0.0421" in page.text
    assert "None: &lt;b&gt;no memory&lt;/b&gt;" in page.text
    assert [(one["number"], one.get("policy", ""), one.get("reason", "")) for one in events] == [
        (1, "run-1@2", ""), (2, "", "<b>no memory</b>"),
    ]  # fmt: skip


async def test_a_run_that_does_not_learn_has_no_such_section(told: Told) -> None:
    small_run(told)
    async with visitor(told) as client:
        page = await client.get(f"/runs/{RUN}/policy")
    assert "Updates of the policy" not in page.text

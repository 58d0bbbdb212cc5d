"""Times: in the zone of the reader, with UTC on hover, and ages that go on."""

import re
from datetime import datetime
from zoneinfo import ZoneInfo

from playwright.sync_api import Browser, StorageState, expect

from tests.browser.complaints import Complaints
from tests.browser.installation import Installation, Service

ZONE = "Asia/Kolkata"


def test_times_are_local_and_ages_tick(
    chromium: Browser,
    installation: Installation,
    signed_in: StorageState,
    service: Service,
    finished_run: str,
    complaints: Complaints,
) -> None:
    run = service.get(f"/v1/runs/{finished_run}")
    begun = datetime.fromisoformat(run["created_at"])
    with chromium.new_context(base_url=installation.url, storage_state=signed_in, timezone_id=ZONE) as context:
        complaints.listen(context)
        page = context.new_page()
        page.goto(f"/runs/{finished_run}/setup")
        started = page.get_by_role("row", name="Started").locator("time")
        expect(started).to_have_text(begun.astimezone(ZoneInfo(ZONE)).strftime("%Y-%m-%d %H:%M:%S"))
        expect(started).to_have_attribute("title", begun.strftime("%Y-%m-%d %H:%M:%S UTC"))
        age = page.locator("#run-head time[data-age]")
        expect(age).to_have_attribute("title", re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(.* UTC\)$"))
        before = age.inner_text()
        expect(age).not_to_have_text(before)

"""Keys, webhooks, quotas, usage and audit as their forms show and change them."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import assert_accessible
from tests.browser.complaints import Complaints
from tests.browser.conftest import OpenPage
from tests.browser.installation import Service

NAME = "<b>robot</b>"
HOOK = "https://192.0.43.8/hook"


def test_a_key_is_shown_once_works_and_is_revoked(page: Page, open_page: OpenPage) -> None:
    page.goto("/admin/keys")
    page.get_by_label("Name").fill(NAME)
    page.get_by_label("Last day").fill("2099-12-31")
    page.get_by_role("button", name="Make key").click()
    key = page.get_by_role("status").filter(has_text="is made").locator("[data-secret]").inner_text()
    headers = {"Authorization": f"Bearer {key}"}
    stranger = open_page("/sign-in", stranger=True)
    assert stranger.request.get("/v1/runs", headers=headers).status == 200
    assert stranger.request.get("/v1/api-keys", headers=headers).status == 403
    page.goto("/admin/keys")
    assert key not in page.content()
    row = page.get_by_role("row").filter(has_text=NAME)
    expect(row).to_contain_text("2099-12-31 23:59:59")
    expect(row).to_contain_text("programs:read, runs:read")
    row.locator("summary").click()
    row.get_by_role("button").click()
    expect(row).to_contain_text("revoked")
    assert stranger.request.get("/v1/runs", headers=headers).status == 401


def test_what_is_wrong_with_a_key_stands_beside_its_fields(open_page: OpenPage, complaints: Complaints) -> None:
    complaints.expect("422")
    page = open_page("/admin/keys")
    page.get_by_label("Name").fill("kept")
    for scope in page.get_by_role("checkbox").all():
        scope.uncheck()
    page.get_by_label("Tenant", exact=True).fill("No Name")
    page.get_by_role("button", name="Make key").click()
    expect(page.locator("#scopes-complaint")).to_contain_text("choose at least one")
    expect(page.locator("#tenant-complaint")).to_be_visible()
    expect(page.get_by_label("Tenant", exact=True)).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Name")).to_have_value("kept")
    assert_accessible(page)


def test_a_key_without_the_scope_is_told_which_one_it_lacks(
    open_page: OpenPage, service: Service, complaints: Complaints
) -> None:
    made = service.client.post("/v1/api-keys", json={"name": "reader", "scopes": ["runs:read"]}).raise_for_status()
    page = open_page("/sign-in?next=/admin", stranger=True)
    page.get_by_label("API key").fill(made.json()["key"])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Usage of default")).to_be_visible()
    complaints.expect("403")
    for path, scope in (("/admin/keys", "keys:manage"), ("/admin/audit", "keys:manage"), ("/admin/quotas", "operate")):
        page.goto(path)
        expect(page.get_by_role("alert")).to_contain_text(f"lacks the scope {scope}")


def test_a_webhook_is_made_tried_changed_and_removed(page: Page) -> None:
    page.goto("/admin/webhooks")
    page.get_by_label("Address").fill(HOOK)
    page.get_by_role("button", name="Make webhook").click()
    secret = page.locator("[data-secret]")
    first = secret.inner_text()
    assert first.startswith("whsec_")
    page.get_by_role("button", name="Ping").click()
    expect(page.locator("#deliveries tbody tr")).to_have_count(1)
    expect(page.locator("#deliveries tbody tr")).to_contain_text("webhook.ping")
    expect(secret).to_have_count(0)
    page.get_by_role("button", name="again").click()
    expect(page.locator("#deliveries tbody tr")).to_have_count(2)
    page.locator("summary", has_text="Rotate").click()
    page.get_by_role("button", name="Make a new secret").click()
    assert secret.inner_text() != first
    page.locator("summary", has_text="Change").click()
    page.get_by_label("run.improved").check()
    page.get_by_label("On", exact=True).uncheck()
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".about")).to_contain_text("off")
    assert page.get_by_role("button", name="Ping").count() == 0
    page.locator("summary", has_text="Change").click()
    expect(page.get_by_label("run.improved")).to_be_checked()
    assert_accessible(page)
    page.locator("summary", has_text="Delete").click()
    page.get_by_role("button", name="Delete the webhook").click()
    expect(page.get_by_text("No webhooks yet")).to_be_visible()


def test_an_address_that_may_not_be_reached_is_said_beside_the_field(page: Page, complaints: Complaints) -> None:
    complaints.expect("422")
    page.goto("/admin/webhooks")
    page.get_by_label("Address").fill("http://127.0.0.1:9/hook")
    page.get_by_role("button", name="Make webhook").click()
    expect(page.locator("#url-complaint")).to_be_visible()
    expect(page.get_by_label("Address")).to_have_value("http://127.0.0.1:9/hook")


def test_quotas_are_set_and_stand_beside_the_usage(page: Page, service: Service, complaints: Complaints) -> None:
    page.goto("/admin/quotas")
    page.get_by_label("Evaluations a day").fill("12 345 678")
    page.get_by_role("button", name="Set quotas").click()
    page.goto("/admin")
    expect(page.get_by_role("row").filter(has_text="Evaluations a day")).to_contain_text("12\u202f345\u202f678")
    used = service.get("/v1/usage")
    tile = page.locator(".tile").filter(has=page.get_by_text("Answers", exact=True))
    expect(tile.locator("strong")).to_have_text(f"{used['answers']:,}".replace(",", "\u202f"))
    page.goto("/admin/quotas")
    expect(page.get_by_label("Evaluations a day")).to_have_value("12345678")
    page.get_by_label("Evaluations a day").fill("many")
    complaints.expect("422")
    page.get_by_role("button", name="Set quotas").click()
    expect(page.locator("#evaluations_per_day-complaint")).to_be_visible()
    expect(page.get_by_label("Evaluations a day")).to_have_value("many")
    page.get_by_label("Evaluations a day").fill("")
    page.get_by_role("button", name="Set quotas").click()
    page.goto("/admin")
    expect(page.get_by_role("row").filter(has_text="Evaluations a day")).to_contain_text("no limit")


def test_retention_says_what_is_held_and_the_command(page: Page, service: Service, finished_run: str) -> None:
    told = service.get("/v1/retention?days=3")
    page.goto("/admin")
    page.get_by_role("link", name="Retention").click()
    expect(page.get_by_text("Runs are kept for ever")).to_be_visible()
    page.get_by_label("Show the effect of keeping runs for this many days").fill("3")
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile(r"days=3$"))
    expect(page.locator("pre")).to_contain_text("evolve db prune --older-than 3 --dry-run")
    row = page.get_by_role("row").filter(has_text=told["tenants"][0]["tenant"])
    expect(row.locator("td").nth(4)).to_have_text(str(told["tenants"][0]["due_runs"]))
    assert_accessible(page)


def test_the_audit_tells_who_did_what(page: Page, service: Service) -> None:
    made = service.client.post("/v1/api-keys", json={"name": "audited", "scopes": ["runs:read"]}).raise_for_status()
    page.goto("/admin/audit")
    row = page.get_by_role("row").filter(has_text=made.json()["id"])
    expect(row).to_contain_text("create_key")
    expect(row).to_contain_text("201")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/admin", "/admin/keys", "/admin/webhooks", "/admin/quotas", "/admin/audit"])
def test_the_pages_shut_nobody_out(open_page: OpenPage, path: str, theme: str) -> None:
    page = open_page(path, theme=theme, width=360)
    assert_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

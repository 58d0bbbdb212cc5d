"""Pages on paper: figures and tables without controls."""

from playwright.sync_api import Page, expect


def test_a_printed_page_has_its_figures_and_no_controls(page: Page, finished_run: str) -> None:
    page.goto(f"/runs/{finished_run}")
    expect(page.get_by_role("link", name="Clone with changes")).to_be_visible()
    page.emulate_media(media="print")
    expect(page.get_by_role("link", name="Clone with changes")).to_be_hidden()
    expect(page.locator(".tabs")).to_be_hidden()
    expect(page.locator(".tile").first).to_be_visible()
    expect(page.get_by_role("region", name="Best candidates")).to_be_visible()

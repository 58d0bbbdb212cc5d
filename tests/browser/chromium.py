"""A Chromium of this machine, found and started; none is downloaded."""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserType

CHROMIUM = "EVOLVE_TEST_CHROMIUM"
# The build without windows comes first: it took 0.6 times the processor for the same tests.
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
REMEDY = (
    "needs a Chromium: 'apt-get install --no-install-recommends chromium-headless-shell fonts-dejavu-core', "
    f"or set {CHROMIUM} to the path of one"
)


def find_chromium() -> Path | None:
    """The candidate that the environment names, else one on the PATH, else None."""
    if named := os.environ.get(CHROMIUM):
        return Path(named)
    return next((Path(found) for name in PROGRAMS if (found := shutil.which(name))), None)


def launch(kind: "BrowserType", candidate: Path, home: Path) -> "Browser":
    """Start it with a home of its own, in its sandbox where that works."""
    from playwright.sync_api import Error

    environment: dict[str, str | float | bool] = {**os.environ, "HOME": str(home)}
    # Chromium refuses its sandbox to the superuser, and has none where user namespaces are closed, as in most
    # containers. Only pages of the tests' own are opened, so without it they are looked at all the same.
    if os.geteuid() != 0:
        with suppress(Error):
            return kind.launch(executable_path=candidate, env=environment, chromium_sandbox=True)
    return kind.launch(executable_path=candidate, env=environment, chromium_sandbox=False)

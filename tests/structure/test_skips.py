import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULE_SKIP = "import pytest\npytest.skip('no such thing here', allow_module_level=True)\n"
TEST_SKIP = "import pytest\n@pytest.mark.skip(reason='no such thing here')\ndef test_it(): assert True\n"
BROWSER_TEST = "import pytest\n@pytest.mark.browser\ndef test_it(): assert True\n"
PLAIN = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # plugins take longer to start than these tests
EXPECTED_FAILURE = "import pytest\n@pytest.mark.xfail(reason='known')\ndef test_it(): assert False\n"


def outcome(source: str, folder: Path, forbid: str, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(source)
    command = [sys.executable, "-m", "pytest", "-q", "-rsE", "-p", "no:cacheprovider", "-p", "tests.conftest"]
    return subprocess.run(
        [*command, "-c", os.devnull, "--rootdir", str(folder), str(folder)],
        cwd=ROOT, env={**os.environ, **PLAIN, "EVOLVE_FORBID_SKIPS": forbid, **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("source", [MODULE_SKIP, TEST_SKIP])
def test_a_forbidden_skip_fails_with_its_reason(source: str, tmp_path: Path) -> None:
    ended = outcome(source, tmp_path, forbid="1")
    assert ended.returncode != 0
    assert "this was left out" in ended.stdout
    assert "no such thing here" in ended.stdout


def test_a_skip_is_allowed_by_default(tmp_path: Path) -> None:
    ended = outcome(TEST_SKIP, tmp_path, forbid="")
    assert ended.returncode == 0
    assert "1 skipped" in ended.stdout


@pytest.mark.parametrize(("forbid", "end"), [("", "1 skipped"), ("1", "1 error")])
def test_a_test_of_pages_is_left_out_where_no_chromium_is_and_says_how_to_get_one(
    forbid: str, end: str, tmp_path: Path
) -> None:
    ended = outcome(BROWSER_TEST, tmp_path, forbid, PATH=str(tmp_path), EVOLVE_TEST_CHROMIUM="")
    assert end in ended.stdout
    assert "apt-get install --no-install-recommends chromium-headless-shell fonts-dejavu-core" in ended.stdout


def test_an_expected_failure_is_no_skip(tmp_path: Path) -> None:
    ended = outcome(EXPECTED_FAILURE, tmp_path, forbid="1")
    assert ended.returncode == 0
    assert "1 xfailed" in ended.stdout

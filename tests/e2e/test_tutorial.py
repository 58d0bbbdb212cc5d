"""The tutorial of the service, run as it is written."""

import json
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.command_line import EVOLVE
from tests.e2e.evolving import Evolve
from tests.patience import PATIENCE_SECONDS

TOP = Path(__file__).parents[2]
PAGE = (TOP / "docs" / "tutorial-service.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
STATED = "http://127.0.0.1:8000"
ACTIVATE = ". .venv/bin/activate"


@pytest.fixture
def evolve(tmp_path: Path) -> Evolve:
    made = Evolve(tmp_path)
    made.environment |= {"PATH": f"{Path(EVOLVE).parent}:{made.environment['PATH']}", "SHELLOPTS": "pipefail"}
    shutil.copytree(TOP / "examples" / "two_files", tmp_path / "examples" / "two_files")
    return made


def test_the_tutorial_of_the_service_runs_as_it_is_written(evolve: Evolve, tmp_path: Path) -> None:
    blocks = BLOCK.findall(PAGE)
    script = "".join(blocks)
    assert len(blocks) >= 8
    assert script.count(STATED) == script.count(ACTIVATE) == 1
    server = evolve.start("serve", "--port", "0", "--json")
    try:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        script = script.replace(STATED, url).replace(ACTIVATE, ":")
        done = subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=tmp_path,
            env=evolve.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=PATIENCE_SECONDS)
        assert server.returncode == 0
    finally:
        server.kill()
        server.communicate()
    said = done.stdout
    assert '"ok":true' in said
    assert "event: run.finished" in said
    assert "event: end" in said
    assert "+++ cnd_" in said
    assert "shortest-tour: succeeded, the budget of evaluations is used up" in said
    assert re.search(r"^strategy=islands median ", said, re.MULTILINE)
    assert re.search(r"^strategy=best_of_n median ", said, re.MULTILINE)
    assert "pausing\npaused\npaused\n{'evaluations': 6000}\ncancelling\n" in said
    assert len((tmp_path / "run.csv").read_text().splitlines()) > 120

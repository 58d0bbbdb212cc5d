"""The calls on the page about the API, run as they are written."""

import json
import signal
import subprocess
from pathlib import Path

from tests.command_line import EVOLVE
from tests.e2e.evolving import Evolve
from tests.e2e.test_tutorial import BLOCK, PAGE, STATED, TOP
from tests.patience import PATIENCE_SECONDS

REFERENCE = (TOP / "docs" / "reference" / "api.md").read_text(encoding="utf-8")


def test_the_calls_of_the_reference_run_as_they_are_written(tmp_path: Path) -> None:
    evolve = Evolve(tmp_path)
    evolve.environment |= {"PATH": f"{Path(EVOLVE).parent}:{evolve.environment['PATH']}", "SHELLOPTS": "pipefail"}
    (tour,) = BLOCK.findall(REFERENCE)
    said = REFERENCE.partition(tour)[2].split("```")[2].strip().splitlines()
    beginning = next(block for block in BLOCK.findall(PAGE) if STATED in block)
    server = evolve.start("serve", "--port", "0", "--json")
    try:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        script = (beginning + tour).replace(STATED, url)
        done = subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=tmp_path,
            env=evolve.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=PATIENCE_SECONDS)
    finally:
        server.kill()
        server.communicate()
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("\n".join([*said, ""]))

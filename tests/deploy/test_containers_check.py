"""scripts/containers_check.sh runs the commands of the pages, and reports what fails."""

import re
import subprocess
from pathlib import Path

import pytest

from scripts.containers.documented import PAGES, block
from tests.deploy.compose import TOP

PARTS = sorted((TOP / "scripts/containers").glob("*.sh"))
SCRIPT = TOP / "scripts/containers_check.sh"
TEXT = "\n".join(path.read_text() for path in [SCRIPT, *PARTS])
CALLS = sorted(set(re.findall(r'(?:documented|follow|follow_docker) (\w+\.md) "([^"]+)" (\d)', TEXT)))


@pytest.mark.parametrize("path", [SCRIPT, *PARTS], ids=lambda path: path.name)
def test_the_script_can_be_read(path: Path) -> None:
    subprocess.run(["bash", "-n", path], check=True)


@pytest.mark.parametrize(("page", "heading", "number"), CALLS)
def test_the_commands_that_it_runs_are_on_the_page(page: str, heading: str, number: str) -> None:
    assert block(PAGES / page, heading, int(number)).strip()


def test_it_runs_every_command_for_compose_of_the_pages() -> None:
    ran = "".join(block(PAGES / page, heading, int(number)) for page, heading, number in CALLS)
    for page in ("deploy.md", "operate.md", "grow.md", "upgrade.md"):
        written = re.findall(
            r"^ +(docker compose (?:up|stop|run|build|restart).*)$", (PAGES / page).read_text(), re.MULTILINE
        )
        # Not those that show the same in another way, or that tests/e2e/test_point_in_time.py does without containers.
        assert {line for line in written if line not in ran} <= {
            'docker compose build --build-arg REVISION="$(git rev-parse HEAD)"',
            "docker compose run --rm -T --no-deps --user postgres --entrypoint sh postgres -c '",
        }, page


def test_every_promise_is_one_that_the_script_can_check() -> None:
    defined = set(re.findall(r"^(\w+)\(\)", TEXT, re.MULTILINE))
    promised = re.findall(r'promise "[^"]+" (\w+)', TEXT)
    assert len(promised) >= 20
    assert set(promised) <= defined


@pytest.mark.parametrize(("command", "verdict"), [("true", "PASS"), ("false", "FAIL"), ("eval 'false; true'", "FAIL")])
def test_a_promise_fails_with_the_first_command_that_fails(tmp_path: Path, command: str, verdict: str) -> None:
    script = f"""
        set -euo pipefail
        work={tmp_path} variant=v user=root mask=022 passed=0 failed=0
        mkdir -p "$work/logs"
        . {TOP}/scripts/containers/common.sh
        checked() {{ {command}; echo last; }}
        promise "words" checked
        exit "$failed"
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.startswith(f"{verdict} words"), done.stdout + done.stderr
    assert done.returncode == (verdict == "FAIL")


@pytest.mark.parametrize(
    ("stopped", "postgres", "verdict"),
    [
        ("/evolve-api-1 exited 0 false", "database system was shut down", "PASS"),
        ("/evolve-api-1 exited 137 false", "database system was shut down", "FAIL"),
        ("/evolve-api-1 exited 0 false", "database system was not properly shut down", "FAIL"),
    ],
)
def test_a_stop_fails_with_another_exit_code_or_a_database_that_recovers(
    tmp_path: Path, stopped: str, postgres: str, verdict: str
) -> None:
    script = f"""
        set -euo pipefail
        work={tmp_path} variant=v user=root mask=022 passed=0 failed=0 top={TOP}
        mkdir -p "$work/logs" "$work/v"
        . {TOP}/scripts/containers/common.sh
        . {TOP}/scripts/containers/faults.sh
        run_under_way() {{ echo run_1; }}
        of_containers() {{ echo "{stopped}"; }}
        as_user() {{ echo "{postgres}"; }}
        advances() {{ true; }}
        ask() {{ true; }}
        promise "words" stopped_and_started
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"{verdict} words"), done.stdout + done.stderr


def test_no_promise_rests_on_a_negation_that_cannot_end_it() -> None:
    assert re.findall(r"^ *! .*$", TEXT, re.MULTILINE) == []


def test_promises_can_be_chosen(tmp_path: Path) -> None:
    script = f"""
        set -euo pipefail
        work={tmp_path} variant=v user=root mask=022 passed=0 failed=0
        mkdir -p "$work/logs"
        . {TOP}/scripts/containers/common.sh
        deployed() {{ true; }}; restored() {{ true; }}; backed_up() {{ true; }}
        EVOLVE_CHECK_ONLY="restored|killed"
        for each in deployed restored backed_up; do promise "$each" "$each"; done
    """
    done = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True)
    assert re.findall(r"^PASS (\w+)", done.stdout, re.MULTILINE) == ["deployed", "restored"]


def test_the_commands_of_a_page_can_have_their_placeholders_replaced() -> None:
    command = ["python3", str(TOP / "scripts/containers/documented.py"), "deploy.md", "The first run", "3"]
    filled = subprocess.run([*command, "RUN=run_1"], check=True, capture_output=True, text=True).stdout
    assert "/v1/runs/run_1/events" in filled
    refused = subprocess.run([*command, "NOTHERE=1"], check=False, capture_output=True, text=True)
    assert refused.returncode == 1
    assert "NOTHERE is not among the commands" in refused.stderr

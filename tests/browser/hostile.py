"""A run of hostile texts: markup, control characters, text that turns around, a line of almost a megabyte."""

from typing import Any

from tests.browser.installation import EVALUATOR, PROBLEM, Service, until

NAME = "hostile"
SCRIPT = "<script>document.title = 'run'</script><img src=x onerror=\"document.title = 'run'\">"
# Right-to-left override, a zero-width space, an escape of terminals, a bell.
UNSEEN = "\u202eturned\u202c \u200b\x1b[31m\x07"
LONG = 990_000
PROGRAM = f'''def give():
    # {SCRIPT}
    # {UNSEEN}
    a = 1.5
    b = 2.5
    text = "{"x" * LONG}"
    return a * b
'''


def submit(service: Service, evaluations: int = 6) -> dict[str, Any]:
    """Submit the run, wait for its end, and return it."""
    evaluator = EVALUATOR.format(seconds=0.0)
    files = {"problem.toml": PROBLEM.format(name=NAME), "program.py": PROGRAM, "evaluator.py": evaluator}
    service.client.post("/v1/problems", json={"files": files}).raise_for_status()
    return service.end(service.submit(NAME, evaluations=evaluations))


def programs_of(service: Service, run_id: str) -> list[dict[str, Any]]:
    """The programs of a run by age, as the API tells them."""
    found: list[dict[str, Any]] = until(lambda: service.get(f"/v1/runs/{run_id}/programs?limit=200")["items"])
    return found

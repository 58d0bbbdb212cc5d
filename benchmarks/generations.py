"""Generations of a run whose policy is slow: `python -m benchmarks.generations`.

A server answers each request after `--latency` seconds with programs that differ from their parent in one number. The
same problem is searched with the default pace and with fixed numbers of calls at once (`concurrency.policy`), from the
same seeds. Told are distinct parents, the depth of the lineage of the best program, the best score and the wall time:
means, with the standard error of the best.
"""

import json
import math
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from benchmarks.harness import arguments, report, scratch
from tests.fakes.openai_server import chain

DEFAULT = 0
_POLICY = '[[policies]]\nname = "slow"\nbase_url = "{url}"\nmodel = "slow"\nanswers = 4\nsamples = 2\nadapt = []\n'
_NUMBER = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.])")
_PARENT = re.compile(r"# The parent program.*?```python\n(.*?)\n```", re.DOTALL)


def varied(program: str, rng: random.Random) -> str:
    """The program with one of the numbers of its region moved a little."""
    start, end = program.find("EVOLVE-BLOCK-START"), program.find("EVOLVE-BLOCK-END")
    place = (start, end) if start >= 0 else (0, len(program))  # a prompt may show the region alone
    number = rng.choice(list(_NUMBER.finditer(program, *place)))
    moved = abs(float(number[0]) + rng.gauss(0.0, 0.02))
    return f"{program[: number.start()]}{moved:.4f}{program[number.end() :]}"


class SlowHandler(BaseHTTPRequestHandler):
    """Answers like a server of a model that takes its time."""

    protocol_version = "HTTP/1.1"
    latency_seconds = 3.0

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Tell the only model."""
        found = self.path.endswith("/models")
        self._send(200 if found else 404, {"data": [{"id": "slow"}]} if found else {})

    def do_POST(self) -> None:
        """Complete a chat, after a while."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.path.endswith("/chat/completions"):
            return self._send(404, {})
        program = _PARENT.search(body["messages"][-1]["content"])
        assert program is not None
        rng = random.Random(body["seed"])
        time.sleep(self.latency_seconds)
        texts = [chain(*(f"```python\n{varied(program[1], rng)}\n```" for _ in range(4))) for _ in range(body["n"])]
        choices = [{"index": n, "message": {"content": text}, "finish_reason": "stop"} for n, text in enumerate(texts)]
        usage = {"prompt_tokens": 1700, "completion_tokens": 500 * 4 * body["n"]}
        return self._send(200, {"object": "chat.completion", "choices": choices, "usage": usage})

    def _send(self, status: int, value: Mapping[str, Any]) -> None:
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@contextmanager
def slow_server(latency_seconds: float) -> Iterator[str]:
    """A server on a loopback port; gives its address."""
    handler = type("Handler", (SlowHandler,), {"latency_seconds": latency_seconds})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


def searched(problem: str, policy: Path, folder: Path, evaluations: int, calls: int, seed: int) -> dict[str, float]:
    """One run by the command, and what came of it."""
    words = [
        "--policy",
        str(policy),
        "--evaluations",
        str(evaluations),
        "--seed",
        str(seed),
        "--workers",
        "1",
        "--json",
    ]
    pace = ["--set", f"concurrency.policy={calls}"] if calls else []
    database = folder / f"{evaluations}-{calls}-{seed}.db"
    began = time.monotonic()
    done = subprocess.run(
        [Path(sys.executable).parent / "evolve", "run", problem, *words, *pace, "--db", f"sqlite:///{database}"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    seconds = time.monotonic() - began
    *events, summary = map(json.loads, done.stdout.splitlines())
    parents = {
        event["proposal_number"]: event["parents"][0][0] for event in events if event["kind"] == "proposal.created"
    }
    made = {event["candidate_id"]: event["proposal_number"] for event in events if event["kind"] == "candidate.created"}
    used = {parents[number] for number in made.values() if number}
    depth, one = 0, summary["best"]["candidate_id"]
    while made[one]:
        depth, one = depth + 1, parents[made[one]]
    return {"parents": len(used), "depth": depth, "best": summary["best"]["fitness"], "seconds": seconds}


def told(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Means of runs, and the standard error of the best."""
    means = {name: round(mean(run[name] for run in runs), 4) for name in runs[0]}
    spread = stdev(run["best"] for run in runs) if len(runs) > 1 else 0.0
    return means | {"best_error": round(spread / math.sqrt(len(runs)), 4), "runs": len(runs)}


def main() -> None:
    """Measure and report."""
    parser = arguments(__doc__.partition("\n")[0])
    parser.add_argument("--problem", default="examples/circle_packing")
    parser.add_argument("--evaluations", type=int, nargs="+", default=[100, 400])
    parser.add_argument("--calls", type=int, nargs="+", default=[DEFAULT, 1, 2, 4, 16], help="0: the default pace")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--latency", type=float, default=3.0)
    parser.add_argument("--side-by-side", type=int, default=6, help="runs at once: they mostly wait")
    asked = parser.parse_args()
    figures: dict[str, Any] = {}
    with scratch() as folder, slow_server(asked.latency) as url, ThreadPoolExecutor(asked.side_by_side) as pool:
        policy = Path(folder) / "policy.toml"
        policy.write_text(_POLICY.format(url=url))
        settings = [(evaluations, calls) for evaluations in asked.evaluations for calls in asked.calls]
        # Seed by seed, so that whatever else the machine does slows all settings alike.
        jobs = {
            (seed, *setting): pool.submit(searched, asked.problem, policy, Path(folder), *setting, seed)
            for seed in range(1, asked.seeds + 1)
            for setting in settings
        }
        for evaluations, calls in settings:
            name = f"{evaluations} evaluations, {f'{calls} calls' if calls else 'default'}"
            figures[name] = told([jobs[seed, evaluations, calls].result() for seed in range(1, asked.seeds + 1)])
            print(name, figures[name], file=sys.stderr, flush=True)
    report("generations", {"latency_seconds": asked.latency, "problem": asked.problem, "runs": figures}, asked.out)


if __name__ == "__main__":
    main()

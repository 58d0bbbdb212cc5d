"""Prompt tokens a child costs, by the shape of a proposal, with a real vLLM: `python -m benchmarks.tokens`.

A vLLM on the processor (`make test-vllm` sets it up) serves the tiny model of the tests, and `evolve run` asks it on a
problem with a long description: one chain of one answer a proposal, one chain of four, and four chains of four. What a
prompt costs is shared by the answers of a chain, and read once for the chains of a proposal; the beginning that all
prompts of a run share is in the cache of the server after the first. Each run has a description of its own, so that
none finds the prompts of another there.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness import arguments, report
from tests.vllm.server import CONTEXT_TOKENS, VllmServer, vllm_server

SHAPES = ((1, 1), (1, 4), (4, 4))
KEY = "key-of-the-benchmark"
PROBLEM = """
schema = 1
name = "point-{shape}"
description = '''
{shape}: return the point of the unit square that lies nearest to a hidden one.
{rules}
'''
seeds = ["program.py"]

[evaluator]
file = "evaluator.py"
entry = "point"

[[objectives]]
name = "nearness"
low = 0
high = 1
"""
SEED = "def point():\n    return [0.00, 0.00]\n"
EVALUATOR = """
def score(outputs, program):
    x, y = outputs[0]["value"]
    return {"nearness": 1.0 - ((x - 0.62) ** 2 + (y - 0.41) ** 2) ** 0.5}
"""


def write_problem(folder: Path, shape: str, rules: int) -> Path:
    folder.mkdir()
    told = "\n".join(f"Rule {number}: no point lies within {number} thousandths of a side." for number in range(rules))
    (folder / "problem.toml").write_text(PROBLEM.format(shape=shape, rules=told))
    (folder / "program.py").write_text(SEED)
    (folder / "evaluator.py").write_text(EVALUATOR)
    return folder


def measured(server: VllmServer, home: Path, samples: int, answers: int, options: Any) -> dict[str, Any]:
    """A run of one shape: tokens by child, those that came from the cache among them."""
    shape = f"{samples}x{answers}"
    problem = write_problem(home / shape, shape, options.rules)
    words = [
        "run", str(problem), "--json", "--db", f"sqlite:///{home / shape}.db", "--policy", server.url,
        "--samples", str(samples), "--answers", str(answers), "--evaluations", str(options.evaluations),
        "--set", f"concurrency.policy={options.calls}",
    ]  # fmt: skip
    (home / "key").write_text(server.key)
    done = subprocess.run(
        [sys.executable, "-m", "service.cli.main", *words],
        env={**os.environ, "EVOLVE_POLICY_API_KEY_FILE": str(home / "key")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"evolve run failed: {done.stderr[-2000:]}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    answered = [line for line in lines if line["kind"] == "proposal.answered"]
    children = sum(line["answers"] for line in answered)
    used = lines[-1]["tokens"]
    return {
        "shape": shape,
        "proposals": len(answered),
        "children": children,
        "prompt_tokens": round(used["input"] / len(answered)),
        "prompt_tokens_per_child": round(used["input"] / children, 1),
        "cached_share": round(used["cached"] / used["input"], 3),
        "uncached_per_child": round((used["input"] - used["cached"]) / children, 1),
        "output_per_child": round(used["output"] / children, 1),
    }


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--evaluations", type=int, default=96)
    parser.add_argument("--rules", type=int, default=60, help="lines of the description, about 27 tokens each")
    parser.add_argument("--calls", type=int, default=4, help="proposals at once")
    parser.add_argument("--python", type=Path, default=Path(".venv-vllm/bin/python"), help="the interpreter with vLLM")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="evolve-benchmark-") as folder:
        home = Path(folder)
        with vllm_server(options.python.absolute(), home, KEY) as server:
            shapes = [measured(server, home, samples, answers, options) for samples, answers in SHAPES]
    report("tokens", {"context": CONTEXT_TOKENS, "shapes": shapes}, options.out)


if __name__ == "__main__":
    main()

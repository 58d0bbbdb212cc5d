"""Any bytes as chains of answers and as edits of programs: `python -m benchmarks.fuzz`.

A million cases of each by default: a part from a seeded generator of what looks a little like the writing of models, on
all cores, and a part from atheris, which follows coverage, where it installs (into an environment of its own). The
first case that breaks a rule of `benchmarks.fuzz_cases` ends the run with that case and exit status 1.
"""

import os
import random
import re
import subprocess
import tempfile
import time
import venv
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.fuzz_cases import CASES, TOKENS, soup
from benchmarks.harness import arguments, report

ATHERIS = "3.0.0"
ROOT = Path(__file__).resolve().parent.parent
BATCH = 5_000
MAX_BYTES = 2_000
SEEDS = 200
GUIDED = """
import sys
import atheris
with atheris.instrument_imports(include=["evolve"]):
    from benchmarks.fuzz_cases import CASES
atheris.Setup([sys.argv[0], *sys.argv[2:]], CASES[sys.argv[1]])
atheris.Fuzz()
"""
_DONE = re.compile(r"Done (\d+) runs")
_COVERED = re.compile(r"cov: (\d+)")


def batch(name: str, seed: int, count: int) -> str:
    """So many cases of a target; the first that breaks a rule with what broke it, else nothing."""
    rng = random.Random(seed)
    for _ in range(count):
        data = soup(rng)
        try:
            CASES[name](data)
        except Exception as error:  # noqa: BLE001 - any exception is what is looked for
            return f"{name} breaks by {data!r}: {type(error).__name__}: {error}"
    return ""


def drawn(name: str, cases: int, seed: int, cores: int) -> dict[str, Any]:
    """Cases from the generator."""
    began = time.monotonic()
    counts = [min(BATCH, cases - start) for start in range(0, cases, BATCH)]
    seeds = [seed * 1_000_003 + place for place in range(len(counts))]
    with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool:
        for broken in pool.map(batch, [name] * len(counts), seeds, counts):
            if broken:
                raise SystemExit(broken)
    return {"cases": cases, "seconds": round(time.monotonic() - began, 1)}


def environment(folder: Path) -> Path | None:
    """The interpreter of an environment that holds atheris, made when it is not there yet; None where it cannot be."""
    python, mark = folder / "bin" / "python", folder / f"atheris-{ATHERIS}"
    if not mark.exists():
        venv.create(folder, with_pip=True, clear=True)
        command = [str(python), "-m", "pip", "install", "-q", "--only-binary", ":all:", f"atheris=={ATHERIS}", "numpy"]
        if subprocess.run(command, check=False).returncode:
            return None
        mark.touch()
    return python


def guided(python: Path, name: str, cases: int, seed: int) -> dict[str, Any]:
    """Cases from atheris."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="evolve-benchmark-") as folder:
        home = Path(folder)
        (corpus := home / "corpus").mkdir()
        rng = random.Random(seed)
        for number in range(SEEDS):
            (corpus / str(number)).write_bytes(soup(rng)[:MAX_BYTES])
        (home / "words").write_text("".join(f'"{_escaped(token)}"\n' for token in TOKENS if len(token) < 60))
        words = [
            f"-runs={cases}",
            f"-seed={seed}",
            f"-max_len={MAX_BYTES}",
            f"-dict={home / 'words'}",
            "-timeout=60",
        ]
        done = subprocess.run(
            [python, "-c", GUIDED, name, *words, f"-artifact_prefix={home}/", str(corpus)],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        found = _DONE.search(done.stderr)
        if done.returncode or not found:
            broken = [path.read_bytes() for path in home.glob("crash-*")]
            raise SystemExit(f"{name} breaks by {broken or 'no case'}: {done.stdout[-3000:]}{done.stderr[-3000:]}")
    covered = _COVERED.findall(done.stderr)
    seconds = round(time.monotonic() - began, 1)
    return {"cases": int(found[1]), "seconds": seconds, "covered": int(covered[-1]) if covered else None}


def _escaped(token: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in token.encode("utf-8", "surrogatepass"))


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--cases", type=int, default=700_000, help="of each target, from the generator")
    parser.add_argument("--guided", type=int, default=300_000, help="of each target, from atheris")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--environment", type=Path, default=Path(".venv-atheris"))
    options = parser.parse_args()
    python = environment(options.environment.absolute()) if options.guided else None
    figures: dict[str, Any] = {"atheris": ATHERIS if python else None}
    for name in CASES:
        figures[name] = {"drawn": drawn(name, options.cases, options.seed, options.cores)}
        if python:
            figures[name]["guided"] = guided(python, name, options.guided, options.seed)
    report("fuzz", figures, options.out)


if __name__ == "__main__":
    main()

"""Problem folders for the tests."""

from pathlib import Path

NATIVE = """\
schema = 1
name = "p"
seeds = ["seed.py"]
[evaluator]
entry = "solve"
[[objectives]]
name = "gain"
low = 0.0
high = 10.0
"""
SEED = "def solve():\n    return 1\n"
SCORE = "def score(outputs, program):\n    return {'gain': 1}\n"
EVALUATE = "def evaluate(program_path):\n    return {'combined_score': 1}\n"


def write(root: Path, files: dict[str, str | bytes]) -> Path:
    """Write files below a folder and return it."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def native(root: Path, document: str = NATIVE, **more: str | bytes) -> Path:
    """A native problem; names of further files have `__` for the dot."""
    files: dict[str, str | bytes] = {"problem.toml": document, "seed.py": SEED, "evaluator.py": SCORE}
    return write(root, files | {name.replace("__", "."): content for name, content in more.items()})


def project(root: Path, config: str | bytes | None = "max_iterations: 10\n", **more: str | bytes) -> Path:
    """An OpenEvolve project."""
    files: dict[str, str | bytes] = {"initial_program.py": SEED, "evaluator.py": EVALUATE}
    files |= {} if config is None else {"config.yaml": config}
    return write(root, files | {name.replace("__", "."): content for name, content in more.items()})

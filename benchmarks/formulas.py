"""A family of small program problems: formulas through points of the laws of Uy et al. (2011), in folders.

Each is `examples/symbolic_regression` with another law, a single objective, and short prompts for a small model.
"""

from collections.abc import Mapping
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "examples" / "symbolic_regression"
# Genetic Programming and Evolvable Machines 12, 2011. Points lie between 0 and 2.
LAWS: Mapping[str, Mapping[str, str]] = {
    "searched": {
        "nguyen-1": "x**3 + x**2 + x",
        "nguyen-7": "math.log(x + 1) + math.log(x * x + 1)",
        "nguyen-8": "math.sqrt(x)",
    },
    "gate": {
        "nguyen-2": "x**4 + x**3 + x**2 + x",
        "nguyen-5": "math.sin(x * x) * math.cos(x) - 1",
    },
    "test": {
        "nguyen-3": "x**5 + x**4 + x**3 + x**2 + x",
        "nguyen-6": "math.sin(x) + math.sin(x + x * x)",
        "nguyen-9": "math.sin(x) + math.sin(x * x)",
    },
}
SEED = "y = 0.2 + 0.8 * x + 0.1 * x * x + 0.1 * sin(x)\n"
CASES = '        "cases": {f"x = {x:.3f}": 1.0 / (1.0 + 10.0 * gap) for x, gap in zip(SEEN, gaps, strict=True)},\n'
OFFSET = 4.0  # digits are counted from a root mean square error of 10,000 on
PROMPTS = {
    "system": "You write short formulas in x.\n",
    "problem": "$description\n$objectives\n",
    "reply": "Reply in exactly this form:\n$example\n$edits$regions\n",
    "rewrite": "\n",
    "parent": "The formula to improve:\n$scores\n$program\n",
    "feedback": "$feedback\n",
    "request_one": "Write a better formula in this form.\n",
    "request_scalar": "Write $count better formulas in this form.\n",
}
PROBLEM = """\
schema = 1
name = "{name}"
description = '''
Find a formula for y by x through measured points with x from 0 to 2. Each line is NAME = EXPRESSION, the last one
y = EXPRESSION. An expression holds numbers, x, names of the lines above, + - * / and sin, cos, exp, log, sqrt.
'''
language = "python"
seeds = ["formula.txt"]

[evaluator]
file = "evaluator.py"
integrity = "separate"
text = true

[limits]
wall_seconds = 5.0
cpu_seconds = 5.0
memory_mb = 256
processes = 4

[[objectives]]
name = "accuracy"
direction = "maximize"
low = 0.0
high = {high}

[search]
islands = 1

[search.budget]
answers = {answers}

[search.prompt]
template_dir = "prompts"
failures = 0

[search.inspirations]
top = 0
diverse = 0
"""


def write_families(folder: Path, answers: int) -> None:
    """Write the problems of each group into a folder of its name.

    Args:
        folder: gets the groups.
        answers: limit of a run.
    """
    evaluator = (SOURCE / "evaluator.py").read_text(encoding="utf-8")
    best = 12.0 + OFFSET
    for group, laws in LAWS.items():
        for name, law in laws.items():
            place = folder / group / name
            (place / "prompts").mkdir(parents=True, exist_ok=True)
            text = replaced(evaluator, "return math.log(x + 1) + math.log(x * x + 1)", f"return {law}")
            text = replaced(text, "BEST_ACCURACY = 12.0", f"BEST_ACCURACY = {best}")
            text = replaced(text, "max(0.0, -math.log10(spread))", f"max(0.0, {OFFSET} - math.log10(spread))")
            # Whatever a prompt shows costs a small machine time.
            text = replaced(text, CASES, "")
            (place / "evaluator.py").write_text(text, encoding="utf-8")
            (place / "formula.txt").write_text(SEED, encoding="utf-8")
            problem = PROBLEM.format(name=name, high=best, answers=answers)
            (place / "problem.toml").write_text(problem, encoding="utf-8")
            for prompt, words in PROMPTS.items():
                (place / "prompts" / f"{prompt}.txt").write_text(words, encoding="utf-8")


def replaced(text: str, old: str, new: str) -> str:
    """A text with one place replaced.

    Raises:
        ValueError: the place is not there once.
    """
    if text.count(old) != 1:
        raise ValueError(f"the evaluator of {SOURCE.name} has changed: {old!r} is there {text.count(old)} times")
    return text.replace(old, new)

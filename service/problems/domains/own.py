"""A problem begun from a question of a person's own domain: an ordinary folder, whose evaluator imports the domain."""

import inspect
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from evolve.domains import TaggedDomain, floors_of, open_domain
from evolve.extensions import own_name
from service.errors import UsageError
from service.problems.init import name_for, write_problem
from service.problems.toml_writer import toml_text

SPLIT = "test"
PROMPTS = "prompts"  # the folder of templates
PRELOADED = "evolve.domains"  # the scoring process finds of Evolve what is imported before it starts
_EVALUATOR = '''\
"""Scores an answer to the question beside it. Written by Evolve for the domain {name}."""

import json
from pathlib import Path

from {module} import {attribute}

DOMAIN = {made}
QUESTION = json.loads(Path(__file__).with_name("question.json").read_text(encoding="utf-8"))


def score(outputs, program):
    text = "\\n".join(program.values()).strip()
    reply = DOMAIN.parse({shown}, 1)
    answer = reply.answers[0]
    if answer is None:
        return {{"error": reply.reasons[0]}}
    return dict(zip(DOMAIN.objectives(QUESTION), map(float, DOMAIN.reward(QUESTION, answer)), strict=True))
'''

# The built-in templates ask an expert programmer for programs, which answers of a domain rarely are.
_PROMPTS = {
    "system": "You write answers to a task. Each answer is scored automatically, on each objective separately.\n",
    "problem": "$description\n\nThe objectives:\n\n$objectives\n",
    "parent": "# The answer to be improved\n\n$scores\n$program\n",
    "inspirations": "# Other answers, to learn from\n\n",
    "inspiration": "## Answer $number\n\n$scores\n$program\n",
    "reply": "Give $count in exactly this form, with nothing after it:\n\n$example\n$edits$regions",
    "rewrite": "\n",
    "request_crossover": "Write $count that join the strengths of the two, in the form asked for.\n",
    "request_repair": "The answer above failed. Write $count without this failure, in the form asked for.\n",
    "request_simplify": "Write $count, each as good as the answer above and shorter, in the form asked for.\n",
    "request_one": "Write a better answer, in the form asked for.\n",
    "request_scalar": "Write $count answers that differ from each other, in the form asked for.\n",
    "request_vector": "Write $count answers that differ from each other, in the form asked for. As a set, they should"
    " do well under any weights of $names.\n",
}


def init_own_domain(folder: Path, name: str, number: int | None) -> tuple[Path, ...]:
    """Write a problem that asks a test question of a domain. Returns the written files.

    The domain's code runs here, to learn the objectives. A module of a single file is copied into the problem. Any
    other has to be installed where the problem is evaluated.

    Args:
        folder: a missing or empty folder.
        name: `module:Class`, or an entry point of the group `evolve.domains`.
        number: of the question, from 0. None: the first.

    Raises:
        UsageError: the domain has no such question.
        ExtensionError: it cannot be loaded.
        ConflictError: the folder is not empty, is a file, or cannot be written.
    """
    if "" not in sys.path:
        sys.path.insert(0, "")
    domain = open_domain(name)
    question = _question(domain, name, number or 0)
    module, _, attribute = own_name(domain).partition(":")
    source = inspect.getsourcefile(import_module(module))
    copied = {f"{module}.py": Path(source).read_text(encoding="utf-8")} if source and "." not in module else {}
    tagged = isinstance(domain, TaggedDomain)
    evaluator = _EVALUATOR.format(
        name=name,
        module=module,
        attribute=attribute,
        made=f"{attribute}()",
        shown='f"<{DOMAIN.tag}>{text}</{DOMAIN.tag}>"' if tagged else "text",
    )
    form = domain.form if isinstance(domain, TaggedDomain) else ""
    document: dict[str, Any] = {
        "schema": 1,
        "name": name_for(folder),
        "description": f"{domain.task(question)}\n\n{form}".strip(),
        "language": "text",
        "seeds": ["answer.txt"],
        "evaluator": {"file": "evaluator.py", "preload": [PRELOADED], "text": True},
        "objectives": [
            {"name": objective, "low": float(low), "high": 1.0}
            for objective, low in floors_of(domain, question).items()
        ],
        "search": {"evaluations": 256, "prompt": {"template_dir": PROMPTS}},
    }
    return write_problem(
        folder,
        {
            "problem.toml": f"# A question of the domain {name}. Check it with `evolve problem check .`\n"
            + toml_text(document),
            "evaluator.py": evaluator,
            "question.json": json.dumps(question, indent=1) + "\n",
            "answer.txt": f"{domain.seed if isinstance(domain, TaggedDomain) else 'answer'}\n",
            **{f"{PROMPTS}/{name}.txt": text for name, text in _PROMPTS.items()},
            **copied,
        },
    )


def _question(domain: Any, name: str, number: int) -> Any:
    bring = getattr(domain, "questions", None)
    found = list(bring(SPLIT)) if callable(bring) else []
    if number >= len(found):
        raise UsageError(f"the domain {name} has {len(found)} {SPLIT} questions, counted from 0, and no {number}")
    return found[number]

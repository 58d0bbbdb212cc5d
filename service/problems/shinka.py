"""ShinkaEvolve's projects, `initial.*` and `evaluate.py`, written out as OpenEvolve projects."""

import ast
from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePosixPath

import yaml

from service.problems.folder import Folder

SEED, EVALUATE, EVALUATOR, CONFIG = "initial", "evaluate.py", "evaluator.py", "config.yaml"
_STARTS = ("run_evo.py", "run.py")
_DESCRIPTION = "task_sys_msg"
_TEXT = '''\
"""Written by Evolve: calls evaluate.py as ShinkaEvolve does, and reads the results that it writes."""

import json
import os
import runpy
import sys
import tempfile


def evaluate(program_path):
    results = tempfile.mkdtemp()
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "evaluate.py")
    sys.argv = [script, "--program_path", program_path, "--results_dir", results]
    status = None
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        status = end.code
    metrics, verdict = read(results, "metrics.json"), read(results, "correct.json")
    if metrics is None or verdict is None:
        return {"error": f"evaluate.py wrote no metrics.json and correct.json (status {status})"}
    feedback = {"feedback": metrics["text_feedback"]} if metrics.get("text_feedback") else {}
    if metrics.get("private"):
        print("private:", metrics["private"])
    if not verdict.get("correct"):
        return {"error": str(verdict.get("error") or "the program is not correct"), **feedback}
    public = metrics.get("public") or {}
    numbers = {key: value for key, value in public.items() if isinstance(value, (int, float))}
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in public.items()}
    artifacts = {key: text for key, text in texts.items() if key not in numbers}
    return {**numbers, "combined_score": metrics.get("combined_score"), "artifacts": artifacts, **feedback}


def read(results, name):
    try:
        with open(os.path.join(results, name), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None
'''


def recognises(names: Iterable[str]) -> bool:
    """Whether a folder with these names in it is a ShinkaEvolve project."""
    found = set(names)
    seeds = [name for name in found if "/" not in name and PurePosixPath(name).stem == SEED]
    return bool(seeds) and EVALUATE in found and EVALUATOR not in found


def written_out(folder: Folder) -> Folder:
    """A project with an evaluator that calls `evaluate.py`, and a configuration with its description; others as is."""
    if not recognises(folder.files):
        return folder
    files = {**folder.files, EVALUATOR: _TEXT.encode()}
    description = next(filter(None, (_description(folder.files.get(name, b"")) for name in _STARTS)), "")
    config = {"prompt": {"system_message": description}} if description else {}
    files.setdefault(CONFIG, yaml.safe_dump(config, allow_unicode=True).encode())
    return replace(folder, files=dict(sorted(files.items())))


def _description(source: bytes) -> str:
    """What a project's start script tells the model, where that is a text and not computed."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    for node in ast.walk(tree):
        named = (
            [target.id for target in node.targets if isinstance(target, ast.Name)]
            if isinstance(node, ast.Assign)
            else []
        )
        named += [node.arg or ""] if isinstance(node, ast.keyword) else []
        if isinstance(node, ast.Assign | ast.keyword) and any(name.endswith(_DESCRIPTION) for name in named):
            value = node.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                return value.value.strip()
    return ""

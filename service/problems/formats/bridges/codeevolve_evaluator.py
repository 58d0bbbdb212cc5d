"""Written by Evolve: calls an evaluation script as CodeEvolve does, and reads the results that it writes."""

import json
import os
import runpy
import sys
import tempfile
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
MAX_BYTES = 16 * 1024 * 1024


def evaluate(program_path: str) -> "dict[str, Any]":
    """The result of a program, as Evolve reads it."""
    with open(os.path.join(HERE, "evolve_evaluator.json"), encoding="utf-8") as file:
        settings = json.load(file)
    script = os.path.join(HERE, settings["script"])
    results = os.path.join(tempfile.mkdtemp(), "results.json")
    sys.argv = [script, program_path, results]
    sys.path.insert(0, os.path.dirname(script))
    os.chdir(os.path.join(HERE, settings["codebase"]))
    status: Any = None
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        status = end.code
    name = os.path.basename(script)
    if status:
        return {"error": f"{name} exits with {status}: a result counts only if it ends with 0"}
    if not os.path.exists(results):
        return {"error": f"{name} writes no results: write them as JSON into the file of its second argument"}
    if os.path.getsize(results) > MAX_BYTES:
        size = os.path.getsize(results) >> 20
        return {"error": f"{name} wrote results of {size} MB, and at most {MAX_BYTES >> 20} MB are read"}
    with open(results, encoding="utf-8") as file:
        try:
            found = json.load(file)
        except ValueError:
            return {"error": f"{name} wrote results that are not JSON"}
    return found if isinstance(found, dict) else {"error": f"{name} wrote results that are not a JSON object"}

"""Written by Evolve: calls evaluate.py as ShinkaEvolve does, and reads the results that it writes."""

import json
import os
import runpy
import sys
import tempfile
from typing import Any

MAX_BYTES = 16 * 1024 * 1024


def evaluate(program_path: str) -> "dict[str, Any]":
    """The result of a program, as Evolve reads it."""
    results = tempfile.mkdtemp()
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "evaluate.py")
    sys.argv = [script, "--program_path", program_path, "--results_dir", results]
    ended = ""
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        ended = f" and exits with {end.code}" if end.code else ""
    try:
        metrics, verdict = read(results, "metrics.json"), read(results, "correct.json")
    except ValueError as error:
        return {"error": str(error)}
    if metrics is None or verdict is None:
        missing = "metrics.json" if metrics is None else "correct.json"
        return {"error": f"evaluate.py writes no {missing}{ended}: write it into the folder of --results_dir"}
    feedback = {"feedback": metrics["text_feedback"]} if metrics.get("text_feedback") else {}
    if metrics.get("private"):
        print("private:", metrics["private"])  # noqa: T201 - shown to people by `problem check`, and to no policy
    if not verdict.get("correct"):
        return {"error": str(verdict.get("error") or "the program is not correct"), **feedback}
    scores, texts = sorted_out(metrics.get("public") or {})
    return {**scores, "combined_score": metrics.get("combined_score"), "artifacts": texts, **feedback}


def sorted_out(public: "dict[str, Any]") -> "tuple[dict[str, Any], dict[str, str]]":
    """Numbers, of tables within too, and texts."""
    scores: dict[str, Any] = {}
    texts: dict[str, str] = {}
    for key, value in public.items():
        if isinstance(value, dict):
            inner, more = sorted_out(value)
            scores.update({f"{key}.{name}": number for name, number in inner.items()})
            texts.update({f"{key}.{name}": text for name, text in more.items()})
        elif isinstance(value, (int, float)):
            scores[key] = value
        else:
            texts[key] = value if isinstance(value, str) else json.dumps(value)
    return scores, texts


def read(results: str, name: str) -> "dict[str, Any] | None":
    """A file of results; None: it was not written."""
    path = os.path.join(results, name)
    if not os.path.exists(path):
        return None
    if os.path.getsize(path) > MAX_BYTES:
        size = os.path.getsize(path) >> 20
        raise ValueError(f"evaluate.py wrote a {name} of {size} MB, and at most {MAX_BYTES >> 20} MB are read")
    with open(path, encoding="utf-8") as file:
        try:
            found = json.load(file)
        except ValueError:
            raise ValueError(f"evaluate.py wrote a {name} that is not JSON") from None
    if not isinstance(found, dict):
        raise ValueError(f"evaluate.py wrote a {name} that is not a JSON object")
    return found

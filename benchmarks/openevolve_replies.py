"""OpenEvolve's own prompt and parser for one parent: a program for the interpreter of OpenEvolve's environment.

It reads a request from stdin and writes a JSON value to stdout: the messages of a prompt, or, where the request holds
completions, the program of each of them (null: OpenEvolve refuses it). It follows the first
iteration of OpenEvolve's worker.
"""

import json
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any


def messages(request: Mapping[str, Any]) -> list[dict[str, str]]:
    """The prompt of the first iteration: the seed program is the parent and the whole population."""
    config = import_module("openevolve.config").Config()
    config.prompt.system_message = request["system"] or config.prompt.system_message
    sampler = import_module("openevolve.prompt.sampler").PromptSampler(config.prompt)
    program = import_module("openevolve.database").Program
    known = program(id="seed", code=request["parent"], metrics=request["metrics"]).to_dict()
    built = sampler.build_prompt(
        current_program=request["parent"],
        parent_program=request["parent"],
        program_metrics=request["metrics"],
        previous_programs=[known],
        top_programs=[known],
        inspirations=[],
        language="python",
        evolution_round=1,
        diff_based_evolution=request["diff"],
        feature_dimensions=config.database.feature_dimensions,
    )
    return [{"role": role, "content": built[role]} for role in ("system", "user")]


def child(parent: str, text: str, diff: bool) -> str | None:
    code: Any = import_module("openevolve.utils.code_utils")
    config = import_module("openevolve.config").Config()
    if not diff:
        program = code.parse_full_rewrite(text, "python")
    else:
        try:
            edits = code.extract_diffs(text, config.diff_pattern)
        except ValueError:
            return None
        program, applied = code.apply_diff_blocks(parent, edits) if edits else ("", 0)
        program = program if applied else ""
    return program if program and program != parent and len(program) <= config.max_code_length else None


def main() -> None:
    request = json.load(sys.stdin)
    if "completions" in request:
        answer: Any = [child(request["parent"], text, request["diff"]) for text in request["completions"]]
    else:
        answer = messages(request)
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()

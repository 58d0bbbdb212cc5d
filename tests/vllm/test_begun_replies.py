"""The command on a real instruct model whose replies are begun: a file of its own, to run beside the others."""

from pathlib import Path

import pytest

from tests.vllm.real_model import assert_ended, perform, real_server

pytestmark = [pytest.mark.vllm, pytest.mark.slow]

# Of the completions, where the model goes on from the parent's first lines.
MIN_VALID_AND_NEW_BEGUN = 0.2
CONTINUE = 'edits = "continue"\n'


def test_replies_that_are_begun_are_far_more_often_valid_and_new(tmp_path: Path) -> None:
    with real_server(tmp_path) as server:
        run = perform(server, tmp_path, "function_minimisation", CONTINUE)
    assert_ended(run)
    valid = {child["program_id"] for child in run.children if child["program_id"]}
    assert len(valid) >= MIN_VALID_AND_NEW_BEGUN * run.completions > 0

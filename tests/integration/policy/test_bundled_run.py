"""The command with a model folder: it searches without a server, repeats itself, goes on, and says what is wrong."""

from pathlib import Path

import pytest

from tests.e2e.evolving import Evolve, EvolveHere, essence, make_problem
from tests.fakes.tiny_llama import write_model, write_parrot

pytestmark = pytest.mark.slow

PROGRAMS = tuple(f"give=lambda:{number}" for number in range(64))


@pytest.fixture
def evolve(tmp_path: Path) -> Evolve:
    return EvolveHere(tmp_path)


@pytest.fixture
def problem(tmp_path: Path) -> str:
    return str(make_problem(tmp_path / "problem", evaluations=20))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model that writes a program of one line, each of 64 as likely as the others."""
    words = ("<answers>", *PROGRAMS)
    written = write_parrot(tmp_path / "tiny", "|".join(PROGRAMS), words, max_position_embeddings=64)
    (written / "chat_template.jinja").write_text("{{ bos_token }} <answers>")
    (written / "evolve.toml").write_text('format = "single"\nsamples = 3\n')
    return written


def test_a_search_with_a_model_folder_needs_no_server(evolve: Evolve, problem: str, folder: Path) -> None:
    *events, summary = evolve.lines("run", problem, "--policy", f"bundled:{folder}", "--seed", "3", "--json")
    assert (summary["state"], summary["evaluations"]) == ("succeeded", 20)
    answered = [event for event in events if event["kind"] == "proposal.answered"]
    # A prompt of two tokens, chains of a program and the end each.
    assert {(event["tokens"]["input"], event["tokens"]["output"] % 2) for event in answered} == {(2, 0)}
    asked = {event["policy"] for event in events if event["kind"] == "proposal.created"}
    assert asked == {"bundled:tiny"}
    (policy,) = evolve.json("show", summary["run_id"])["policies"]
    assert (policy["kind"], policy["model"], policy["format"], policy["samples"]) == (
        "bundled",
        str(folder),
        "single",
        3,
    )


def test_a_deterministic_run_repeats_itself(evolve: Evolve, problem: str, folder: Path) -> None:
    def played() -> list[dict[str, object]]:
        words = ("run", problem, "--policy", f"bundled:{folder}", "--seed", "3", "--deterministic", "--json")
        summary = evolve.lines(*words)[-1]
        return [essence(candidate) for candidate in evolve.lines("export", summary["run_id"])]

    first = played()
    assert len(first) > 10
    assert played() == first


def test_a_broken_folder_is_said_in_a_sentence_before_anything_is_stored(
    evolve: Evolve, problem: str, folder: Path
) -> None:
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[: len(content) // 2])
    said = evolve.said("run", problem, "--policy", f"bundled:{folder}")
    assert said.code == 2
    assert "model.safetensors is damaged" in said.err
    assert "Traceback" not in said.err
    assert evolve.lines("runs", "--json") == []


def test_a_model_that_is_not_there_is_said_in_a_sentence(evolve: Evolve, problem: str) -> None:
    said = evolve.said("run", problem, "--policy", "bundled:absent")
    assert said.code == 3
    assert "there is no bundled policy 'absent'" in said.err
    assert "Traceback" not in said.err


def test_a_template_that_takes_no_prompt_ends_in_failed_proposals(evolve: Evolve, problem: str, tmp_path: Path) -> None:
    folder = write_model(tmp_path / "mazes", template="{{ raise_exception('only mazes') }}")
    said = evolve.said("run", problem, "--policy", f"bundled:{folder}", "--set", "budget.wall_seconds=4", "--json")
    assert said.code == 1
    assert "the policy refused every proposal" in said.err
    assert "only mazes" in said.err

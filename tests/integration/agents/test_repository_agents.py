"""Agents over a repository: they find its files, and what they leave in mutable paths is the answer."""

from evolve.answers.repository_edits import apply_repository_answer
from evolve.repository import Repository, changed_files, removed_files
from tests.integration.agents.conftest import Make, asked, proposal

CONTENTS = {
    "src/a.py": b"A = 1\n",
    "src/b.py": b"B = 1\n",
    "src/c.py": b"C = 1\n",
    "tests/check.py": b"assert True\n",
    "tools/run": b"#!/bin/sh\necho ran\n",
    "data/blob": bytes(range(256)),
}
BASE = Repository(
    commit="a" * 40,
    mutable=("src/**",),
    sizes={path: len(content) for path, content in CONTENTS.items()},
    texts={path: content.decode() for path, content in CONTENTS.items() if path.startswith("src/")},
    contents=CONTENTS,
    executable=frozenset({"tools/run"}),
)
PARENT = BASE.program({"src/a.py": "A = 2\n", "src/new.py": "N = 1\n"}, ["src/c.py"])


async def test_an_agent_finds_the_files_of_its_parent_and_changes_adds_and_removes(make: Make) -> None:
    policy = make(
        """
        import os, subprocess
        assert open("src/a.py").read() == "A = 2\\n" and open("src/new.py").read() == "N = 1\\n"
        assert not os.path.exists("src/c.py") and not os.path.exists(".evolve/base")
        assert open("data/blob", "rb").read() == bytes(range(256))
        assert subprocess.check_output(["tools/run"]) == b"ran\\n"
        open("src/a.py", "w").write("A = 3\\n")
        open("src/more.py", "w").write("M = 1\\n")
        os.remove("src/b.py")
        os.remove("src/new.py")
        open("tests/check.py", "w").write("")
        os.remove("data/blob")
        """,
        repository=BASE,
    )
    (answer,), completed = await asked(policy, proposal(dict(PARENT.files)))
    child = apply_repository_answer(BASE, PARENT, answer.text, "rewrite", "python").program
    assert changed_files(child) == {"src/a.py": "A = 3\n", "src/more.py": "M = 1\n"}
    assert removed_files(child) == ("src/b.py", "src/c.py")
    assert "tests/check.py may not change" in completed.completions[0]
    assert "data/blob was removed, and stays" in completed.completions[0]


async def test_several_answers_are_worktrees_beside_each_other(make: Make) -> None:
    policy = make(
        """
        import os
        for number in (1, 2):
            assert os.path.exists(f"answer_{number}/tests/check.py")
        open("answer_2/src/b.py", "w").write("B = 2\\n")
        """,
        repository=BASE,
        answers=2,
    )
    (answer,), completed = await asked(policy, proposal(dict(BASE.seed().files), answers=2))
    child = apply_repository_answer(BASE, BASE.seed(), answer.text, "rewrite", "python").program
    assert (answer.index, changed_files(child)) == (1, {"src/b.py": "B = 2\n"})
    assert completed.dropped[0].reason == "the agent changed no file of the program"

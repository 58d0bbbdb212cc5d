"""What an agent leaves in its folder is the answer; one that breaks costs its proposal a sentence, and nothing more."""

import asyncio
import time
import uuid
from collections.abc import Mapping

import pytest

from evolve.answers.edit import apply_answer
from evolve.errors import PolicyDenied, PolicyUnavailable
from evolve.program import Program
from evolve.proposal import CompletedReply
from tests.integration.agents.conftest import SEVERAL, SINGLE, Make, asked, proposal
from tests.integration.sandbox.bench import processes_naming
from tests.patience import PATIENCE_SECONDS


def child(files: Mapping[str, str], text: str) -> dict[str, str]:
    return dict(apply_answer(Program.of(files), text, "rewrite", "python").program.files)


async def test_the_files_that_an_agent_leaves_are_the_answer(make: Make) -> None:
    policy = make("""
        import sys
        prompt = open(sys.argv[1]).read()
        assert prompt == sys.stdin.read()
        assert "Make x large." in prompt and "`p.py`" in prompt
        open("p.py", "a").write("x = 2\\n")
        print("edited p.py")
    """)
    (answer,), completed = await asked(policy, proposal(SINGLE))
    assert child(SINGLE, answer.text) == {"p.py": "x = 1\nx = 2\n"}
    assert completed.completions == ("edited p.py\n\n[The agent ended with exit status 0.]",)
    assert (completed.finish_reasons, completed.dropped, completed.attempts) == (("stop",), (), 1)


async def test_files_of_a_program_of_several_are_changed_and_added(make: Make) -> None:
    policy = make(
        """
        import os
        open("pkg/b.py", "w").write("b = '```'\\n")
        open("pkg/c.py", "w").write("c = 1\\n")
        os.remove("pkg/a.py")
        open(".notes", "w").write("hidden files are tools' own")
        """,
        files=SEVERAL,
    )
    (answer,), completed = await asked(policy, proposal(SEVERAL))
    assert child(SEVERAL, answer.text) == {"pkg/a.py": "a = 1\n", "pkg/b.py": "b = '```'\n", "pkg/c.py": "c = 1\n"}
    assert "Left out: pkg/a.py was removed, and stays." in completed.completions[0]


async def test_a_chain_of_several_answers_is_a_folder_for_each(make: Make) -> None:
    policy = make(
        """
        import sys
        assert "`answer_1` to `answer_3`" in open(sys.argv[1]).read()
        open("answer_1/p.py", "w").write("x = 5\\n")
        open("answer_3/p.py", "w").write("x = 7\\n")
        """,
        answers=3,
    )
    answers, completed = await asked(policy, proposal(SINGLE, answers=3))
    found = [(answer.index, child(SINGLE, answer.text)["p.py"]) for answer in answers]
    assert found == [(0, "x = 5\n"), (2, "x = 7\n")]
    assert [one.reason for one in completed.dropped] == ["the agent changed no file of the program"]


async def test_each_sample_is_a_session_of_its_own(make: Make) -> None:
    policy = make(
        """
        import pathlib, secrets
        assert not pathlib.Path("../home/mark").exists()
        pathlib.Path("../home/mark").touch()
        open("p.py", "w").write(f"x = {secrets.randbits(60)}\\n")
        """,
        samples=2,
    )
    for _ in range(2):
        answers, completed = await asked(policy, proposal(SINGLE, samples=2))
        assert len({answer.text for answer in answers}) == 2, completed
        assert [answer.chain for answer in answers] == [0, 1]


BROKEN = [
    ("print('no idea')", "the agent changed no file of the program"),
    ("raise SystemExit(3)", "the agent ended with exit status 3, and changed no file of the program"),
    ("import os; os.kill(os.getpid(), 9)", "the agent was ended by signal 9, and changed no file of the program"),
    ("import time; time.sleep(600)", "the agent ran longer than 2 s, and changed no file of the program"),
    ("while True: print('x' * 100_000)", "the agent printed too much, and changed no file of the program"),
    ("import os; os.remove('p.py'); os.symlink('/etc/passwd', 'p.py')", "the agent left p.py is a link"),
    ("import os; os.remove('p.py'); os.mkfifo('p.py')", "the agent left p.py is no regular file"),
    ("import os, shutil; os.remove('p.py'); shutil.rmtree('.evolve')", "the agent only removed p.py"),
    ("import shutil; shutil.rmtree('../worktree')", "the agent only removed p.py"),
    ("open('p.py', 'wb').write(bytes(range(256)))", "the agent left p.py holds no text"),
    ("open('p.py', 'w').write('x' * 5_000_000)", "the agent left p.py is larger than a program may be"),
    ("open('q.py', 'w').write('x = 2')", "the agent changed no file of the program"),
    ("import os\nfor n in range(20000): open(str(n), 'w')", "changed no file of the program"),
]


@pytest.mark.parametrize(("source", "reason"), BROKEN)
async def test_a_broken_agent_costs_its_proposal_one_sentence(make: Make, source: str, reason: str) -> None:
    policy = make(source, timeout_seconds=2.0 if "sleep" in source else 20.0)
    answers, completed = await asked(policy, proposal(SINGLE))
    assert answers == []
    assert [reason in one.reason for one in completed.dropped] == [True], completed.dropped
    assert all(len(one.reason) < 400 and "\n" not in one.reason for one in completed.dropped)


@pytest.mark.parametrize(
    "source",
    [
        "open('/etc/evolve-was-here', 'w')",
        "open('/tmp/evolve-was-here', 'w')",
        "import os; os.mkdir(os.path.expanduser('~root/evolve-was-here'))",
        "import socket; socket.create_connection(('127.0.0.1', 80))",
        "import os; print(os.environ['SECRET_OF_THE_TEST'])",
        "print(open('/proc/1/environ').read())",
        "print(open('/etc/shadow').read())",
        "import os; os.mkdir('/dev/shm/../evolve')",
    ],
)
async def test_an_agent_reaches_nothing_outside(make: Make, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    monkeypatch.setenv("SECRET_OF_THE_TEST", "secret")
    _, completed = await asked(make(source), proposal(SINGLE))
    assert [one.reason for one in completed.dropped] == [
        "the agent ended with exit status 1, and changed no file of the program"
    ], completed.completions


@pytest.mark.parametrize(("named", "found"), [(["GIVEN", "UNSET"], 1), ([], 0)])
async def test_named_variables_and_a_home_of_its_own_are_all_that_it_finds(
    make: Make, named: list[str], found: int
) -> None:
    policy = make(
        """
        import os
        assert "OTHER" not in os.environ
        assert os.environ["GIVEN"] == "yes" and os.environ["CI"] == "1"
        assert not any(name.startswith(("EVOLVE_", "OPENAI_")) for name in os.environ)
        open(os.path.expanduser("~/cache"), "w").write("x")
        open("p.py", "w").write("x = 2\\n")
        """,
        environment=named,
        variables={"GIVEN": "yes", "OTHER": "no"},
    )
    answers, completed = await asked(policy, proposal(SINGLE))
    assert len(answers) == found, completed.completions


async def test_no_process_is_left(make: Make) -> None:
    mark = f"600.{uuid.uuid4().int % 10**9}"
    policy = make(
        f"""
        import subprocess
        subprocess.Popen(["sh", "-c", "setsid sleep {mark} & setsid setsid sleep {mark} & sleep {mark}"])
        open("p.py", "w").write("x = 2\\n")
        """
    )
    answers, _ = await asked(policy, proposal(SINGLE))
    assert len(answers) == 1
    assert processes_naming(mark) == []


async def until_running(mark: str) -> None:
    """Until a process has the mark in its command."""
    for _ in range(int(PATIENCE_SECONDS / 0.05)):
        if processes_naming(mark):
            return
        await asyncio.sleep(0.05)
    pytest.fail("the agent did not start")


async def test_a_cancelled_call_ends_the_agent_at_once(make: Make) -> None:
    mark = f"600.{uuid.uuid4().int % 10**9}"
    policy = make(f"import subprocess; subprocess.run(['sleep', '{mark}'])", timeout_seconds=600.0)
    replies = policy.propose(proposal(SINGLE))
    call = asyncio.ensure_future(anext(replies))
    await until_running(mark)
    began = time.monotonic()
    call.cancel()
    last = await call
    assert isinstance(last, CompletedReply)
    assert last.finish_reasons == ("cancelled",)
    with pytest.raises(asyncio.CancelledError):
        await anext(replies)
    assert time.monotonic() - began < 20
    assert processes_naming(mark) == []


async def test_an_agent_that_is_not_there_is_said_so_once(make: Make) -> None:
    policy = make("", command=["no-such-agent"])
    with pytest.raises(PolicyDenied, match="no-such-agent: No such file or directory"):
        await asked(policy, proposal(SINGLE))


@pytest.mark.parametrize(("path", "reason"), [("agents", "is relative"), ("/no/such/folder", "does not exist")])
async def test_a_folder_that_cannot_be_read_is_named_by_the_key_of_the_policy(
    make: Make, path: str, reason: str
) -> None:
    policy = make("", read=[path])
    with pytest.raises(PolicyUnavailable, match=f"does not start: read: '{path}' {reason}"):
        await asked(policy, proposal(SINGLE))

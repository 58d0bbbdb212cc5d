from typing import Any

import pytest

from evolve.domains import Domain, Eureqa, LiveCodeBench, MazeDomain, Musique, ToolRL, eureqa, livecodebench, toolrl
from evolve.domains import musique as mq
from evolve.domains.maze import maze_of

ASKED: dict[str, tuple[Domain[Any, Any], Any]] = {
    "maze": (MazeDomain(), maze_of("hard", "validation", 0)),
    "musique": (
        Musique(),
        mq.MusiqueQuestion(text="Who?", paragraphs=(("a", "b"), ("c", "d")), support=(1,), answer="Wanted Name"),
    ),
    "eureqa": (
        Eureqa(),
        eureqa.EureqaQuestion(narrative="A met B.", masks=tuple("ABCDE"), entities=("Wanted Name",) * 5),
    ),
    "toolrl": (ToolRL(), toolrl.ToolTask(user="Call.", calls=(toolrl.ToolCall(name="Wanted Name"),))),
    "livecodebench": (
        LiveCodeBench(judge=lambda *_: [0.0]),
        livecodebench.CodingTask(
            statement="Print.",
            tests=(livecodebench.Test(input="Wanted Name", output="Wanted Name"),),
            starter="class Solution: ...",
        ),
    ),
}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("m", [1, 3])
def test_a_prompt_is_the_task_and_then_the_form_of_the_reply(name: str, m: int) -> None:
    domain, question = ASKED[name]
    task, prompt = domain.task(question), domain.prompt(question, m)
    assert prompt.startswith(f"{task}\n\n")
    assert len(prompt) > len(task) + 20
    assert "_1>" not in task
    assert "Wanted Name" not in prompt

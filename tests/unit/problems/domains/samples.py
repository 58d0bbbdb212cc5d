"""Questions made by hand, with the fields of the published data sets and nothing of their content."""

import json
from typing import Any

from evolve.domains.maze import maze_of, render

MAZE = "maze 2x4, at most 6 moves, open rules\nS L G E\n. # D B\n"
MUSIQUE: dict[str, Any] = {
    "id": "2hop__1_2",
    "paragraphs": [
        {"idx": 0, "title": "Lake Veld", "paragraph_text": "Lake Veld lies in Norland.", "is_supporting": True},
        {"idx": 1, "title": "Chess", "paragraph_text": "Chess is a game.", "is_supporting": False},
        {"idx": 2, "title": "Norland", "paragraph_text": "Its capital is Old Harbour.", "is_supporting": True},
    ],
    "question": "What is the capital of the country of Lake Veld?",
    "question_decomposition": [
        {"id": 1, "question": "Where is Lake Veld?", "answer": "Norland", "paragraph_support_idx": 0},
        {"id": 2, "question": "What is the capital of #1?", "answer": "Old Harbour", "paragraph_support_idx": 2},
    ],
    "answer": "The Golden Harbour",
    "answer_aliases": ["Goldenport"],
    "answerable": True,
}
EUREQA: dict[str, Any] = {
    "idx": 7,
    "question": ["Person A wrote book B.", "Book B is set in city C.", "City C lies in country D, by sea E, near F."],
    "entity_masks": ["Person A", "book B", "city C", "country D", "sea E", "F"],
    "entities": ["Ada_Bern", "The_Long_Road", "Port_Veld", "Norland", "Inner_Sea", "Known_Rock"],
}
WANTED = '{"name": "get_weather", "parameters": {"city": "Port Veld", "days": 3}}'
TOOLRL: dict[str, Any] = {
    "data_source": "rlla",
    "prompt": [
        {"role": "system", "content": "Tools: get_weather(city, days). Think in <think>, call in <tool_call>."},
        {"role": "user", "content": "Weather for three days in the harbour, please."},
    ],
    "reward_model": {"style": "rule", "ground_truth": f"<think>w</think>\n<tool_call>\n{WANTED}\n</tool_call>"},
    "extra_info": {"index": 0},
}
READING: dict[str, Any] = {
    "question_title": "Sum",
    "question_content": "Read two numbers from one line and print their sum.",
    "starter_code": "",
    "public_test_cases": json.dumps([{"input": "1 2\n", "output": "3\n", "testtype": "stdin"}]),
    "private_test_cases": json.dumps([{"input": f"{n} {n}\n", "output": f"{2 * n}\n"} for n in (5, 20)]),
    "metadata": "{}",
}
CALLING: dict[str, Any] = {
    "question_content": "Reverse a list of numbers.",
    "starter_code": "class Solution:\n    def reversedList(self, numbers: List[int]) -> List[int]:\n        ",
    "public_test_cases": json.dumps([{"input": "[1, 2, 3]", "output": "[3, 2, 1]", "testtype": "functional"}]),
    "private_test_cases": json.dumps([{"input": "[4, 5]", "output": "[5, 4]", "testtype": "functional"}]),
    "metadata": json.dumps({"func_name": "reversedList"}),
}
ROWS = {"musique": MUSIQUE, "eureqa": EUREQA, "toolrl": TOOLRL, "livecodebench": READING}

# What no policy may be shown, domain by domain.
GOLD = {
    "musique": ("Golden", "Goldenport"),
    "eureqa": ("Ada_Bern", "Long_Road", "Inner_Sea"),
    "toolrl": ("Port Veld", '"days": 3'),
    "livecodebench": ("40", "20 20"),
}


def problem_toml(name: str, table: str = "", rest: str = "") -> str:
    """A problem with a table `[domain]`, by default of the file question.json."""
    return f'schema = 1\n{rest}\n[domain]\nname = "{name}"\n{table or _TABLES.get(name, _QUESTION)}\n'


def files_of(name: str) -> dict[str, str | bytes]:
    """A problem of that domain as its files."""
    if name == "maze":
        return {"problem.toml": problem_toml("maze"), "maze.txt": MAZE}
    return {"problem.toml": problem_toml(name), "question.json": json.dumps(ROWS[name])}


_QUESTION = 'file = "question.json"'
_TABLES = {"maze": 'file = "maze.txt"'}
HARD = render(maze_of("hard", "questions", 0))

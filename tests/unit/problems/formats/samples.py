"""Small problems in the layouts of other projects, each of our own."""

EOH_PROBLEM = '''
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "eoh", "src"))

from eoh import BaseProblem
from distances import STEPS


class Walk(BaseProblem):
    template_program = """
import math

def step(position: float) -> float:
    return position + math.floor(1.5)
"""
    task_description = "Walk to the goal " "in few steps."

    def __init__(self, goal=10, timeout: int = 40, n_processes: int = 1):
        super().__init__(timeout=timeout, n_processes=n_processes)
        self.goal = goal

    def evaluate_program(self, program_str, callable_func):
        position = 0.0
        for _ in range(STEPS):
            position = callable_func(position)
        return None if position < 0 else abs(self.goal - position)
'''
EOH_START = "from prob import Walk\n\ntask = Walk(goal=12, timeout=7, n_processes=4)\n"

LLM4AD_TASK = """
from llm4ad.base import Evaluation
from llm4ad.task.optimization.walk.template import template_program, task_description
from llm4ad.task.optimization.walk import distances


class WalkEvaluation(Evaluation):
    def __init__(self, timeout_seconds=9, goal=10, **kwargs):
        super().__init__(
            template_program=template_program, task_description=task_description, timeout_seconds=timeout_seconds
        )
        self.goal = goal

    def evaluate_program(self, program_str, callable_func):
        position = 0.0
        for _ in range(distances.STEPS):
            position = callable_func(position)
        return None if position < 0 else -abs(self.goal - position)
"""
LLM4AD_TEMPLATE = '''
template_program = """
import math

def step(position: float) -> float:
    return position + math.floor(1.5)
"""

task_description = "Walk to the goal in few steps."
'''

FUNSEARCH = '''"""Finds long walks."""
import math

inputs = [3, 4]


def walk(n: int) -> float:
  return sum(priority(place) for place in range(n))


@funsearch.run
def evaluate(n: int) -> float:
  """Returns the length of a walk."""
  return walk(n)


@funsearch.evolve
def priority(place: int) -> float:
  """Scores a place."""
  return math.floor(1.5)
'''

ALGOTUNE = """
import logging

from AlgoTuneTasks.base import register_task, Task

FACTOR = 2


@register_task("doubling")
class Doubling(Task):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)

    def generate_problem(self, n: int, random_seed: int = 1):
        return [random_seed + number for number in range(n)]

    def solve(self, problem):
        return [self._twice(number) for number in problem]

    def _twice(self, number):
        return number * FACTOR

    def is_solution(self, problem, solution):
        if len(solution) != len(problem):
            logging.error("the lengths differ")
            return False
        return all(b == 2 * a for a, b in zip(problem, solution))
"""

GEPA_MAIN = '''
import argparse

from examples.walk.goal import GOAL
from gepa.optimize_anything import GEPAConfig, OptimizationState, optimize_anything

SEED = """
STEP = 1
def position():
    return STEP * 3
"""


def evaluate(candidate, example, opt_state: OptimizationState | None = None):
    names = {}
    exec(candidate["program"], names)
    score = -abs(GOAL + example - names["position"]())
    return score, {"said": f"example {example}", "empty": None}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    arguments = parser.parse_args()
    print("remote" if "/" in arguments.model else "local")
    optimize_anything(
        seed_candidate={"program": SEED},
        evaluator=evaluate,
        dataset=[1, 3],
        objective="Walk to the goal.",
        background="The goal is far. ",
        config=GEPAConfig(model=arguments.model),
    )
    raise SystemExit("the search was begun")


if __name__ == "__main__":
    main()
'''
ALPHAEVOLVE_RUN = """
from alpha_evolve.client import AlphaEvolveClient
from alpha_evolve.experiment import AlphaEvolveExperiment

from .evaluate import METRIC, PROGRAM, walk_evaluation


def main():
    experiment = AlphaEvolveExperiment(AlphaEvolveClient(project_id="p"), walk_evaluation, 10)
    experiment.create_experiment(
        {"title": "Walk", "problem_description": "Walk to the goal.", "program_language": "python"}
    )
    experiment.create_initial_program(
        {
            "content": {"files": [{"path": "main.py", "content": PROGRAM}]},
            "evaluation": {"scores": {"scores": [{"metric": METRIC, "score": 0.0}]}},
        }
    )
"""
ALPHAEVOLVE_EVALUATE = """
import os

from alpha_evolve.models import Insight, Insights, Score, Scores, Evaluation

METRIC = "closeness"


def _load():
    with open(os.path.join(os.path.dirname(__file__), "program.py")) as file:
        return file.read()


PROGRAM = _load()


def walk_evaluation(candidate):
    names = {}
    exec(candidate["content"]["files"][0]["content"], names)
    if "position" not in names:
        insight = Insight(label="structure", text="position is missing")
        return {"scores": {"scores": [{"metric": METRIC, "score": None}]}, "insights": {"insights": [insight]}}
    score = Score(metric=METRIC, score=-abs(10 - names["position"]()))
    return Evaluation(scores=Scores(scores=[score])).model_dump()
"""
ALPHAEVOLVE_PROGRAM = "# EVOLVE-BLOCK-START\ndef position():\n    return 3\n# EVOLVE-BLOCK-END\n"

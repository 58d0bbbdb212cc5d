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

"""Leaving every frame of the process that a new one was forked from, so that what they hold is gone."""

from collections.abc import Callable

Step = Callable[[], None]


class LeaveFrames(BaseException):
    """Raised in a new process, to run a function below no frame but that of `run`.

    Attributes:
        steps: the function alone, which whoever catches this takes out.
    """

    def __init__(self, step: Step) -> None:
        super().__init__()
        self.steps = [step]


def run(steps: list[Step]) -> None:
    """Run the function in a list, and each one that a process below leaves its frames for; the list is emptied."""
    while steps:
        try:
            steps.pop()()
        except LeaveFrames as left:  # what holds its frames is dropped at the end of this block
            steps.append(left.steps.pop())

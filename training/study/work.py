"""The tasks of a study, done one by one or concurrently. Finished tasks are not repeated."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from evolve.problem import Problem
from training.errors import StudyError
from training.study.raw import MeasurementKey, Store

Problems = Callable[[str, str, int], Problem]
Told = Callable[["StudyTask"], None]
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class StudyTask(Protocol):
    """A measurement of a model under a condition."""

    @property
    def key(self) -> MeasurementKey:
        """The conditions of the task."""

    @property
    def size(self) -> int:
        """How much work it is, in answers."""

    def run(self, problems: Problems) -> Mapping[str, NDArray[Any]]:
        """Measure."""


def missing(tasks: Sequence[StudyTask], store: Store) -> list[StudyTask]:
    """The tasks that are not done yet, each once."""
    found = {task.key.file: task for task in tasks if not store.has(task.key)}
    return list(found.values())


def do(tasks: Sequence[StudyTask], store: Store, problems: Problems, workers: int, told: Told) -> None:
    """Do tasks and store their results.

    Args:
        problems: the problem of a maze, by kind, split and number, as a function that other processes find by its name.
        workers: concurrent processes. 1: only this process.
        told: gets each finished task.

    Raises:
        StudyError: a process was killed.
    """
    if workers == 1 or len(tasks) < 2:
        for task in tasks:
            store.write(task.key, task.run(problems))
            told(task)
        return
    with _pool(min(workers, len(tasks))) as pool:
        begun = {pool.submit(_do, task, store.folder, problems): task for task in tasks}
        try:
            for ended in as_completed(begun):
                ended.result()
                told(begun[ended])
        except BrokenProcessPool as error:
            raise StudyError("a process of the study was killed: call it again with fewer --workers") from error


def _do(task: StudyTask, folder: Path, problems: Problems) -> None:
    Store(folder=folder).write(task.key, task.run(problems))


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Processes with a thread each, which end at once when their task ends."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ |= dict.fromkeys(_THREADS, "1")
    pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
    others = set(multiprocessing.active_children())
    try:
        yield pool
    except BaseException:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

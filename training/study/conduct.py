"""Conducts a study: it samples, searches and writes the report, and continues after an interruption."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from training.errors import StudyError
from training.study.campaign import Campaign
from training.study.findings import Findings, findings_of
from training.study.gather import Gathering
from training.study.pictures import check_drawing, draw
from training.study.report import report
from training.study.work import Problems, StudyTask, Told, do, missing

SAMPLING, SEARCH, REPORT = "sampling", "search", "report"
STAGES = (SAMPLING, SEARCH, REPORT)
# What is being done and how much work it is; gives what is to be called for each task done.
Watch = Callable[[str, int], AbstractContextManager[Told]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRunner:
    """How a study is conducted.

    Attributes:
        problems: the problem of a maze.
        workers: processes at once.
        watch: shows the progress.
        path: of the report.
        command: that measures all of it again.
    """

    campaign: Campaign
    problems: Problems
    workers: int
    watch: Watch
    path: Path
    command: str

    def go(self, stages: Sequence[str]) -> Findings | None:
        """Run stages. Returns the content of the report, if that is one of them.

        Raises:
            UsageError: pictures are requested and cannot be drawn.
            StudyError: there is nothing to report, or a measurement is damaged.
        """
        if REPORT in stages:
            check_drawing()
        for title, tasks in self._measuring(stages):
            self._do(title, tasks)
        return self._report() if REPORT in stages else None

    def _measuring(self, stages: Sequence[str]) -> Iterator[tuple[str, Sequence[StudyTask]]]:
        """Tasks in steps, each step planned when those before it are done."""
        campaign = self.campaign
        if SAMPLING in stages:
            yield "choosing temperatures", campaign.validation_tasks()
            yield "sampling", campaign.sampling_tasks()
        if SEARCH in stages:
            yield "choosing settings", campaign.tuning_tasks()
            if campaign.scope.own_temperatures:
                yield "choosing temperatures of searches", campaign.heating_tasks()
            yield "searching", campaign.search_tasks()

    def _do(self, title: str, tasks: Sequence[StudyTask]) -> None:
        left = missing(tasks, self.campaign.store)
        if left:
            with self.watch(title, sum(task.size for task in left)) as told:
                do(left, self.campaign.store, self.problems, self.workers, told)

    def _report(self) -> Findings:
        tasks = Gathering(campaign=self.campaign).figures_tasks()
        self._do("working out figures", tasks)
        found = findings_of(self.campaign, self.command)
        if not tasks and not any(found.searched.values()):
            raise StudyError("nothing was measured yet: call `evolve study` without --stage, or with --stage sampling")
        draw(found, self.path.parent / "images")
        started = self.path.with_name(f".{self.path.name}.part")
        started.write_text(report(found), encoding="utf-8")
        started.replace(self.path)
        return found

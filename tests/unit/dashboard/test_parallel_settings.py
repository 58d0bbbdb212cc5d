"""Runs over parallel axes of their settings and their result."""

import re

from service.dashboard.parallel_settings import HEIGHT, WIDTH, parallel
from service.dashboard.parameters import Parameter

ISLANDS = Parameter(key="islands", values=["10", "2", "10"], explained=None)
KIND = Parameter(key="archive.kind", values=["top", "grid", "grid"], explained=None)


def points(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", path)]


def test_each_run_has_a_line_over_all_axes_the_best_last_and_highest() -> None:
    picture = parallel([ISLANDS, KIND], [1.0, 3.0, 2.0], "Best fitness", str)
    assert picture
    assert [axis.name for axis in picture.axes] == ["islands", "archive.kind", "Best fitness"]
    assert [line.place for line in picture.lines] == [0, 2, 1]
    assert [line.share for line in picture.lines] == [0.0, 0.5, 1.0]
    lines = [points(line.path) for line in picture.lines]
    assert all([x for x, _ in line] == [axis.x for axis in picture.axes] for line in lines)
    assert lines[2][-1][1] < lines[1][-1][1] < lines[0][-1][1]  # the foot has the largest y
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for line in lines for x, y in line)


def test_each_line_tells_what_stands_at_each_height() -> None:
    picture = parallel([ISLANDS, KIND], [1.0, 3.0, 2.0], "Best fitness", "{:.1f}".format)
    assert picture
    told = {line.place: (line.values, line.heights) for line in picture.lines}
    assert told[0][0] == ("10", "top", "1.0")
    assert told[2][0] == ("10", "grid", "2.0")
    assert told[0][1][0] == told[2][1][0] != told[1][1][0]
    for line in picture.lines:
        assert [round(y, 1) for _, y in points(line.path)] == [round(y, 1) for y in line.heights]


def test_numbers_stand_by_size_and_results_are_written_at_both_ends() -> None:
    picture = parallel([ISLANDS], [1.0, 3.0, 2.0], "Best fitness", "{:.1f}".format)
    assert picture
    assert [tick.words for tick in picture.axes[0].ticks] == ["2", "10"]
    assert [tick.words for tick in picture.axes[-1].ticks] == ["1.0", "3.0"]


def test_runs_without_a_result_have_no_line_and_one_alone_no_picture() -> None:
    picture = parallel([ISLANDS], [1.0, None, 1.0], "Best fitness", str)
    assert picture
    assert [line.place for line in picture.lines] == [0, 2]
    assert parallel([ISLANDS], [1.0, None, None], "Best fitness", str) is None
    assert parallel([], [1.0, 2.0, 3.0], "Best fitness", str) is None

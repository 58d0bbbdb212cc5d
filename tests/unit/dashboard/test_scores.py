from service.dashboard.scores import Score


def test_more_is_better_only_where_more_is_wanted() -> None:
    up = Score(name="a", value=2.0, other=1.0, direction="maximize")
    down = Score(name="a", value=2.0, other=1.0, direction="minimize")
    assert (up.delta, up.verdict, down.verdict) == (1.0, "better", "worse")


def test_less_is_better_where_less_is_wanted() -> None:
    assert Score(name="a", value=1.0, other=2.0, direction="minimize").verdict == "better"


def test_the_same_is_neither_better_nor_worse() -> None:
    assert Score(name="a", value=1.0, other=1.0, direction="minimize").verdict == "equal"


def test_nothing_is_said_of_what_was_not_scored_or_is_not_wanted() -> None:
    assert Score(name="a", value=None, other=1.0, direction="maximize").verdict == ""
    assert Score(name="a", value=2.0, other=1.0).verdict == ""

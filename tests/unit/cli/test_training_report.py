"""The lines of a training as a person reads them."""

import warnings

import pytest

from service.cli.terminal import Terminal
from service.cli.training_report import hide_library_warnings, show_line


def test_updates_are_told_by_the_figures_of_their_training(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal(as_json=False)
    show_line(terminal, 60, {"step": 1, "loss": 1.4771, "token_accuracy": 0.674, "grad_norm": 3.0})
    show_line(terminal, 60, {"step": 2, "set_reward": 0.5, "unread": 0.25, "kl": None, "loss": 0.1})
    show_line(terminal, 60, {
        "estimate_seconds": 590.0, "updates_left": 59, "update_seconds": 10.0, "tests_left": 0, "test_seconds": 0.0,
    })  # fmt: skip
    assert capsys.readouterr().err.splitlines() == [
        "1/60  loss 1.477  token_accuracy 0.674",
        "2/60  set_reward 0.500  unread 0.250",
        "about 9 min 50 s left: 59 updates of 10.0 s. Ctrl-C ends it, --resume continues it.",
    ]


def test_what_a_library_says_to_its_callers_is_not_shown() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        hide_library_warnings()
        for module in ("transformers.modeling_utils", "letters"):
            warnings.warn_explicit(f"of {module}", FutureWarning, f"{module}.py", 1, module=module)
    assert [str(each.message) for each in seen] == ["of letters"]

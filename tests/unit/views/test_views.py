"""Views are read in one place: what can be shown comes out as one of three forms, the rest as one sentence."""

import base64
import time
from xml.etree import ElementTree as Xml

import pytest

from evolve.evaluation import Outcome, read_result
from evolve.problem import EvaluatorSpec, Objective, Problem
from evolve.program import Program
from evolve.views.candidate_view import HTML, MAX_VIEW_BYTES, PNG, SVG, CandidateView, read_view, stored_view
from tests.unit.views.drawings import address, bomb, png

CIRCLE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><circle cx=".5" cy=".5" r=".5"/></svg>'


def view_of(raw: object) -> CandidateView:
    found = read_view(raw)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("raw", "media_type"),
    [
        (CIRCLE, SVG),
        (
            f'<?xml version="1.0"?>\n<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x.dtd">\n<!-- by hand -->{CIRCLE}',
            SVG,
        ),
        ({"svg": CIRCLE}, SVG),
        ("<h1>Tour</h1>", HTML),
        ({"html": "plain words"}, HTML),
        (address(png()), PNG),
        ({"png": base64.b64encode(png()).decode()}, PNG),
        ({"x": [1, 2], "y": [3, 4]}, SVG),
    ],
)
def test_forms_of_views(raw: object, media_type: str) -> None:
    found = view_of(raw)
    assert (found.media_type, found.reason) == (media_type, "")
    assert stored_view({"media_type": found.media_type, "content": found.content, "reason": ""}) == found


def test_an_svg_without_a_namespace_gets_it_as_browsers_draw_none_without() -> None:
    found = view_of("<svg viewBox='0 0 1 1'><rect width='1' height='1'/></svg>")
    assert Xml.fromstring(found.content).tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("words", "begins with 'words'"),
        ("<svg><rect></svg>", "not well-formed"),
        (CIRCLE.replace("<circle", "<script>alert(1)</script><circle"), "holds <script>"),
        (CIRCLE.replace("<circle", "<foreignObject/><circle"), "holds <foreignobject>"),
        (CIRCLE.replace("<circle", "<circle onload='alert(1)'"), "has onload="),
        (CIRCLE.replace("<circle", "<image href='https://example.com/a.png'/><circle"), "loads nothing"),
        (CIRCLE.replace("<circle", "<a href='javascript:alert(1)'/><circle"), "leads nowhere"),
        (CIRCLE.replace("<circle", "<circle style='fill: url(//example.com/a#b)'"), "loads nothing"),
        (CIRCLE.replace("<circle", "<style>@import 'https://example.com/a.css';</style><circle"), "loads nothing"),
        (f'<!DOCTYPE svg [<!ENTITY a "b">]>{CIRCLE}', "declares entities"),
        (bomb(8), "refers to its own parts so often"),
        (CIRCLE.replace("<circle", "<g/>" * 20_001 + "<circle"), "20,003 elements"),
        (f"<p>{'x' * MAX_VIEW_BYTES}</p>", f"up to {MAX_VIEW_BYTES // 1024} KB"),
        (address(b"GIF89a"), "does not begin as a PNG"),
        (address(png(40_000, 40_000, idat=b"x")), "40000 x 40000 pixels"),
        (address(png()[:-6]), "cut off"),
        ({"png": "%%%"}, "not base64"),
        ({"svg": 3}, "svg is a int"),
        ({"error": "ValueError: no ink"}, "could not be drawn: ValueError: no ink"),
        ({"y": [1, "two"]}, "'two' in y of series 1"),
        ({"y": [float("nan")]}, "not a finite number"),
        ({"x": [1], "y": [1, 2]}, "1 x and 2 y"),
        ({"series": []}, "1 to 8 series"),
        ({"y": [1], "kind": "pie"}, "use line, points, bars"),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(raw: object, reason: str) -> None:
    found = view_of(raw)
    assert (found.media_type, found.content) == ("", "")
    assert reason in found.reason
    assert found.reason.startswith("The view") or found.reason.startswith("Series")
    assert "\n" not in found.reason


def test_a_worker_is_a_stranger_whose_views_are_checked_again() -> None:
    for media_type, content in ((SVG, bomb(8)), (PNG, "AAAA"), ("text/javascript", "alert(1)")):
        found = stored_view({"media_type": media_type, "content": content, "reason": ""})
        assert (found.media_type, found.content) == ("", "")
        assert found.reason


def test_a_png_keeps_what_its_picture_is_made_of_alone() -> None:
    given = png(2, 2, (b"tEXt", b"secret\x00of the machine"), (b"iCCP", b"x" * 99), (b"acTL", b"\x00" * 8))
    assert view_of(address(given)).data == png(2, 2)


def test_hostile_texts_are_refused_in_a_moment() -> None:
    began = time.monotonic()
    for raw in ("<!---->" * 30_000, "<svg" + " " * 200_000, bomb(60, 20), "<svg>" + "<g>" * 50_000, "<?xml" * 40_000):
        view_of(raw)
    assert time.monotonic() - began < 5


def test_a_page_brings_the_policy_that_keeps_it_harmless_as_a_file() -> None:
    found = view_of("<p>A tour</p><script>alert(1)</script>")
    assert found.data.startswith(b'<meta http-equiv="Content-Security-Policy" content="default-src \'none\';')
    assert found.picture == ""


@pytest.mark.parametrize("kind", ["line", "points", "bars"])
@pytest.mark.parametrize("values", [[0.0], [1e-9, 2e-9], [1e300, -1e300], [0.999, 1.0], [3.0, 3.0]])
def test_plots_are_drawn_within_their_paper(kind: str, values: list[float]) -> None:
    found = view_of({"series": [{"y": values, "kind": kind, "name": "a <b> & c"}], "title": "t", "x_label": "x"})
    assert found.reason == ""
    root = Xml.fromstring(found.content)
    for circle in root.iter("{http://www.w3.org/2000/svg}circle"):
        assert 0 <= float(circle.get("cx", "-1")) <= 480
        assert 0 <= float(circle.get("cy", "-1")) <= 300
    for anchor in ("middle", "end"):
        ticks = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text") if one.get("text-anchor") == anchor]
        assert len(ticks) == len(set(ticks)) > 1, "two ticks of an axis read alike"


def problem(*names: str) -> Problem:
    return Problem(
        name="p",
        seeds=(Program.of({"a.py": "x = 1\n"}),),
        evaluator=EvaluatorSpec(entry="solve"),
        objectives=tuple(Objective(name=name, low=0.0, high=10.0) for name in names),
    )


def test_a_view_is_no_part_of_what_a_policy_or_a_search_sees() -> None:
    found = read_result({"gain": 1.0, "view": CIRCLE}, problem("gain"))
    assert (found.outcome, dict(found.scores), found.feedback) == (Outcome.OK, {"gain": 1.0}, "")
    assert found.view == view_of(CIRCLE)


def test_a_bad_view_costs_no_candidate_its_score() -> None:
    found = read_result({"gain": 1.0, "view": "no picture"}, problem("gain"))
    assert (found.outcome, dict(found.scores), found.feedback) == (Outcome.OK, {"gain": 1.0}, "")
    assert found.view is not None
    assert found.view.reason


def test_a_plot_is_a_table_and_none_of_its_numbers_is_a_metric() -> None:
    found = read_result({"gain": 1.0, "view": {"x": [1], "y": [2]}}, problem("gain"))
    assert dict(found.scores) == {"gain": 1.0}


def test_an_objective_called_view_stays_one() -> None:
    found = read_result({"view": 2.0}, problem("view"))
    assert (dict(found.scores), found.view) == ({"view": 2.0}, None)

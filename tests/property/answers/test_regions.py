from hypothesis import given
from hypothesis import strategies as st

from evolve.answers.regions import enforce, regions
from evolve.errors import AnswerError
from evolve.program import Program

LINES = st.sampled_from(["a = 1", "b = 2", "", "# EVOLVE-BLOCK-START", "# EVOLVE-BLOCK-END", "c", "d\r"])
TEXTS = st.lists(LINES, max_size=12).map("\n".join)


def outside(text: str) -> list[str]:
    """What stands outside the regions: the frame, piece by piece."""
    lines = text.split("\n")
    pieces, position = [], 0
    for region in regions(text):
        pieces.append("\n".join(lines[position : region.start]))
        position = region.end
    return [*pieces, "\n".join(lines[position:])]


def inside(text: str) -> list[list[str]]:
    return [text.split("\n")[region.start : region.end] for region in regions(text)]


@given(TEXTS, TEXTS)
def test_a_child_keeps_its_parents_frame_and_its_own_blocks(before: str, after: str) -> None:
    parent = Program.of({"f": before})
    try:
        blocks = inside(before)
        enforced = enforce(parent, Program.of({"f": after}))
        child = enforced.program.text
    except AnswerError:
        return
    if not blocks:
        assert child == after
        return
    assert outside(child) == outside(before)
    assert enforced.restored or inside(child) == inside(after)
    assert not (enforced.restored and inside(after))

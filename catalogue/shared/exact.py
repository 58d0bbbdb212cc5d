"""Numbers that a program returned, read and compared without rounding.

Every float is a ratio of integers. A rule that is checked with these ratios needs no tolerance. A score that is not a
float is rounded to the worse of its two neighbours, so that it never claims more than was found.
"""

import math
from fractions import Fraction

LARGEST = 10**6
FINEST = Fraction(1, 2**200)


def is_number(part):
    """Whether a value is a finite number of a size that a sensible solution needs."""
    if isinstance(part, bool) or not isinstance(part, (int, float)):
        return False
    return abs(part) <= LARGEST and (part == 0 or abs(part) >= FINEST)


def read_rows(value, count, width, name):
    """Rows of numbers as fractions, or a complaint.

    Args:
        value: what the program returned.
        count: of the rows; width: numbers in each.
        name: of a row, for the complaint.
    """
    if not isinstance(value, list) or len(value) != count:
        return [], f"the program must return a list of {count} entries, each with {width} numbers"
    for number, row in enumerate(value):
        if not isinstance(row, list) or len(row) != width or not all(map(is_number, row)):
            return [], f"{name} {number} must be {width} finite numbers of at most {LARGEST}"
    return [[Fraction(part) for part in row] for row in value], ""


def to_integers(rows):
    """Rows of fractions in whole numbers of a common unit, and that unit."""
    unit = math.lcm(*(part.denominator for row in rows for part in row))
    return [[int(part * unit) for part in row] for row in rows], unit


def float_below(exact):
    """The largest float that is not above a fraction."""
    rounded = float(exact)
    return rounded if Fraction(rounded) <= exact else math.nextafter(rounded, -math.inf)


def float_above(exact):
    """The smallest float that is not below a fraction."""
    return -float_below(-exact)


def drawing(shapes, low_x, low_y, width, height):
    """An SVG of shapes in a window whose y axis points up."""
    size = max(width, height)
    margin = 0.03 * size
    box = f"{low_x - margin:.4f} {-low_y - height - margin:.4f} {width + 2 * margin:.4f} {height + 2 * margin:.4f}"
    pen = f'stroke="#003a5c" stroke-width="{0.004 * size:.5f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" width="360" height="360">'
        f'<g transform="scale(1,-1)" fill="#0072b2" fill-opacity="0.5" {pen}>{"".join(shapes)}</g></svg>'
    )


def polygon(corners, fill="none"):
    """The outline of a polygon."""
    text = " ".join(f"{float(x):.5f},{float(y):.5f}" for x, y in corners)
    return f'<polygon points="{text}" fill="{fill}"/>'


def dot(x, y, radius):
    """A filled disc."""
    return f'<circle cx="{float(x):.5f}" cy="{float(y):.5f}" r="{float(radius):.5f}"/>'

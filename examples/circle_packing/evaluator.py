"""Scores a packing by itself: nothing that the program says about its radii, gaps or sum is believed.

Every float is a ratio of integers, so the two rules are checked exactly, without a tolerance:
a circle lies in the square when r <= x <= 1 - r and r <= y <= 1 - r; two do not overlap when
(x1 - x2)^2 + (y1 - y2)^2 >= (r1 + r2)^2.
"""

import math
import statistics

COUNT = 26


def score(outputs, program):  # noqa: ARG001 - every scorer is given the program too
    output = outputs[0]
    if output["error"]:
        return {"error": output["error"]}
    circles, complaint = read(output["value"])
    complaint = complaint or broken_rule(circles)
    if complaint:
        return {"error": complaint}
    radii = [radius for _, _, radius in circles]
    return {
        "sum_radii": math.fsum(radii),
        "spread": statistics.pstdev(radii),
        "feedback": f"smallest radius {min(radii):.6f}, largest {max(radii):.6f}",
    }


def render(outputs):
    """The packing as SVG, drawn when somebody looks at it; the larger a circle, the darker."""
    circles, _ = read(outputs[0]["value"])
    largest = max(radius for _, _, radius in circles)
    discs = "".join(
        f'<circle cx="{x:.5f}" cy="{1 - y:.5f}" r="{radius:.5f}" fill-opacity="{0.2 + 0.6 * radius / largest:.2f}"/>'
        for x, y, radius in circles
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="-0.02 -0.02 1.04 1.04" width="360" height="360">'
        '<rect width="1" height="1" fill="#fff" stroke="#333" stroke-width="0.004"/>'
        f'<g fill="#0072b2" stroke="#003a5c" stroke-width="0.003">{discs}</g></svg>'
    )


def read(value):
    """26 triples of finite floats, or a complaint."""
    if not isinstance(value, list) or len(value) != COUNT:
        return [], f"pack() must return a list of {COUNT} entries [x, y, radius]"
    circles = []
    for number, entry in enumerate(value):
        if not isinstance(entry, list) or len(entry) != 3 or not all(is_finite(part) for part in entry):
            return [], f"circle {number} must be three finite numbers [x, y, radius]"
        circles.append([float(part) for part in entry])
    return circles, ""


def is_finite(part):
    return isinstance(part, (int, float)) and not isinstance(part, bool) and abs(part) < 1e9


def broken_rule(circles):
    """The first rule that is broken, or an empty text; in whole numbers of a common unit, so without rounding."""
    ratios = [[part.as_integer_ratio() for part in circle] for circle in circles]
    unit = max(below for circle in ratios for _, below in circle)  # powers of two: the largest is a multiple of each
    exact = [[above * (unit // below) for above, below in circle] for circle in ratios]
    for number, (x, y, radius) in enumerate(exact):
        if radius < 0:
            return f"circle {number} has a negative radius"
        if not (radius <= x <= unit - radius and radius <= y <= unit - radius):
            return f"circle {number} sticks out of the square"
        for other in range(number):
            far_x, far_y, far_radius = exact[other]
            if (x - far_x) ** 2 + (y - far_y) ** 2 < (radius + far_radius) ** 2:
                return f"circles {other} and {number} overlap"
    return ""

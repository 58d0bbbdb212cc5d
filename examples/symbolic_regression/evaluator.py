"""Reads a formula, and compares it with measured points that it never saw. Nothing of the program is run.

The text is taken apart into a syntax tree and worked out node by node: numbers, x, names given above, + - * / and a
few functions. So a formula cannot look at the points, at this file or at anything else, and its size is counted here.
"""

import ast
import math
import operator
import random

MAX_NODES = 60
MAX_LENGTH = 4000
BEST_ACCURACY = 12.0
FAR = 1e9
BINARY = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
UNARY = {ast.USub: operator.neg, ast.UAdd: operator.pos}
FUNCTIONS = {"sin": math.sin, "cos": math.cos, "exp": math.exp, "log": math.log, "sqrt": math.sqrt}


def law(x):
    """Nguyen-7."""
    return math.log(x + 1) + math.log(x * x + 1)


chance = random.Random(7)
SEEN = [chance.uniform(0.0, 2.0) for _ in range(20)]
UNSEEN = [4.0 * step / 99 for step in range(100)]


class RefusedError(Exception):
    """The text is no formula."""


def score(outputs, program):  # noqa: ARG001 - a text is not run, so there are no outputs
    try:
        size, lines = read(*program.values())
        gaps = [abs(value(lines, x) - law(x)) for x in SEEN]
    except RefusedError as error:
        return {"error": str(error)}
    worst = max(range(len(SEEN)), key=gaps.__getitem__)
    return {
        "accuracy": digits(gaps),
        "size": size,
        "cases": {f"x = {x:.3f}": 1.0 / (1.0 + 10.0 * gap) for x, gap in zip(SEEN, gaps, strict=True)},
        "feedback": f"{size} nodes; furthest off at x = {SEEN[worst]:.3f}, by {gaps[worst]:.3g}",
        "view": drawing(lines),
    }


def drawing(lines):
    """The formula as a plot beside the points; where it has no value, the line stops."""
    xs, ys = [], []
    for x in UNSEEN:
        try:
            ys.append(min(10.0, max(-10.0, value(lines, x))))
        except RefusedError:
            break
        xs.append(x)
    points = {"x": SEEN, "y": [law(x) for x in SEEN], "kind": "points", "name": "measured"}
    formula = [{"x": xs, "y": ys, "name": "formula"}] if xs else []
    return {"series": [*formula, points], "x_label": "x", "y_label": "y"}


def holdout(outputs, program):  # noqa: ARG001 - as `score`
    """The accuracy where no point was measured, which no search is scored by: Evolve asks once a run has ended."""
    try:
        size, lines = read(*program.values())
    except RefusedError as error:
        return {"error": str(error)}
    return {"accuracy": digits([beyond(lines, x) for x in UNSEEN]), "size": size}


def beyond(lines, x):
    """How far off a formula is where no point was measured; where it has no value, as far as counts."""
    try:
        return abs(value(lines, x) - law(x))
    except RefusedError:
        return FAR


def digits(gaps):
    """Decimal places that are right: -log10 of the root mean square, from 0 to 12."""
    spread = math.sqrt(math.fsum(min(gap, FAR) ** 2 for gap in gaps) / len(gaps))
    return min(BEST_ACCURACY, max(0.0, -math.log10(spread))) if spread else BEST_ACCURACY


def read(text):
    """The number of nodes, and (name, expression) line by line; the last is y."""
    if len(text) > MAX_LENGTH:
        raise RefusedError(f"the formula is longer than {MAX_LENGTH} characters")
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise RefusedError("the formula does not parse") from error
    size, known, lines = 0, {"x"}, []
    for line in body:
        plain = isinstance(line, ast.Assign) and len(line.targets) == 1 and isinstance(line.targets[0], ast.Name)
        if not plain or line.targets[0].id in {"x", *FUNCTIONS}:
            raise RefusedError("each line must be NAME = EXPRESSION, with another name than x or a function's")
        size += nodes(line.value, known)
        known.add(line.targets[0].id)
        lines.append((line.targets[0].id, line.value))
    if not lines or lines[-1][0] != "y":
        raise RefusedError("the last line must be y = EXPRESSION")
    if size > MAX_NODES:
        raise RefusedError(f"the formula has {size} nodes, and at most {MAX_NODES} are allowed")
    return size, lines


def nodes(expression, known):
    """Numbers, names, operators and functions, one each."""
    count, waiting = 0, [expression]
    while waiting:
        node = waiting.pop()
        count += 1
        if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
            waiting += [node.left, node.right]
        elif isinstance(node, ast.UnaryOp) and type(node.op) in UNARY:
            waiting.append(node.operand)
        elif isinstance(node, ast.Call) and is_function(node):
            waiting.append(node.args[0])
        elif not is_number(node) and not (isinstance(node, ast.Name) and node.id in known):
            raise RefusedError(f"a formula has no {type(node).__name__} here: {written(node)!r}")
    return count


def written(node):
    """The beginning of what was refused, as it is written."""
    try:
        return ast.unparse(node)[:40]
    except RecursionError:
        return "..."


def is_function(node):
    named = isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS
    return named and len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred)


def is_number(node):
    return (
        isinstance(node, ast.Constant)
        and type(node.value) in (int, float)
        and abs(node.value) < 1e9  # no number holds a table of values in its digits
    )


def value(lines, x):
    names = {"x": x}
    try:
        for name, expression in lines:
            names[name] = work_out(expression, names)
    except (ValueError, ZeroDivisionError, OverflowError) as error:
        raise RefusedError(f"the formula has no value at x = {x:.3f}: {error}") from error
    if not math.isfinite(names["y"]):
        raise RefusedError(f"the formula is not finite at x = {x:.3f}")
    return names["y"]


def work_out(node, names):
    if isinstance(node, ast.BinOp):
        return BINARY[type(node.op)](work_out(node.left, names), work_out(node.right, names))
    if isinstance(node, ast.UnaryOp):
        return UNARY[type(node.op)](work_out(node.operand, names))
    if isinstance(node, ast.Call):
        return FUNCTIONS[node.func.id](work_out(node.args[0], names))
    return names[node.id] if isinstance(node, ast.Name) else float(node.value)

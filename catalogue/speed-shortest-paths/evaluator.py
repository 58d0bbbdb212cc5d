"""Compares the speed of a program with that of a reference, after its answers were checked."""

import speed


def inputs():
    """Calls of the program."""
    return instances(1)


def holdout_inputs():
    """Calls of other instances."""
    return instances(2)


def score(outputs, program):
    return speed.score(outputs, instances(1), reference, correct)


def holdout(outputs, program):
    return speed.score(outputs, instances(2), reference, correct)


def instances(seed):
    """Sparse graphs of 400 nodes that are long ways from end to end."""
    numbers, calls = speed.draws(seed + 10), []
    for _ in range(3):
        count, edges = 400, []
        for node in range(count - 1):
            ends = [node + 1, *(max(0, min(count - 1, node - 8 + next(numbers) % 17)) for _ in range(3))]
            edges += [[node, end, 1 + next(numbers) % 90] for end in ends]
        edges.sort(key=lambda edge: -edge[0])
        calls.append([count, edges])
    return calls


def reference(count, edges):
    """Bellman and Ford's rule, until nothing changes."""
    found = [0] + [None] * (count - 1)
    changed = True
    while changed:
        changed = False
        for start, end, length in edges:
            if found[start] is not None and (found[end] is None or found[start] + length < found[end]):
                found[end] = found[start] + length
                changed = True
    return [-1 if length is None else length for length in found]


def correct(answer, wanted, arguments):
    return isinstance(answer, list) and all(type(length) is int for length in answer) and answer == wanted

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
    """Graphs of 900 nodes around the threshold at which they grow together."""
    numbers, calls = speed.draws(seed + 30), []
    for count in (400, 500, 600):
        edges = [[next(numbers) % 900, next(numbers) % 900] for _ in range(count)]
        calls.append([900, edges])
    return calls


def reference(count, edges):
    """Labels that are lowered until nothing changes."""
    labels, changed = list(range(count)), True
    while changed:
        changed = False
        for one, two in edges:
            low = min(labels[one], labels[two])
            if labels[one] != labels[two]:
                labels[one] = labels[two] = low
                changed = True
    return len(set(labels))


def correct(answer, wanted, arguments):
    return type(answer) is int and answer == wanted

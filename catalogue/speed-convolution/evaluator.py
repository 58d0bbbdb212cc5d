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
    """Lists of 200 numbers of up to ten digits: their products are beyond the exact range of floats."""
    numbers = speed.draws(seed + 20)
    return [[[next(numbers) * 5 for _ in range(200)] for _ in range(2)] for _ in range(3)]


def reference(one, two):
    """Every product, one after the other."""
    found = [0] * (len(one) + len(two) - 1)
    for a, first in enumerate(one):
        for b, second in enumerate(two):
            found[a + b] += first * second
    return found


def correct(answer, wanted, arguments):
    return isinstance(answer, list) and all(type(part) is int for part in answer) and answer == wanted

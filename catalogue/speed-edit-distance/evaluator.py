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
    """Pairs of texts of 150 letters, the second a changed copy of the first."""
    numbers, calls = speed.draws(seed), []
    for _ in range(3):
        one = [next(numbers) % 4 for _ in range(150)]
        two = [letter if next(numbers) % 3 else next(numbers) % 4 for letter in one if next(numbers) % 5]
        calls.append(["".join("acgt"[letter] for letter in text) for text in (one, two)])
    return calls


def reference(one, two):
    """The textbook's table, row by row."""
    row = list(range(len(two) + 1))
    for place, letter in enumerate(one, start=1):
        before, row = row, [place]
        for other, far in enumerate(two):
            row.append(min(before[other + 1] + 1, row[other] + 1, before[other] + (letter != far)))
    return row[-1]


def correct(answer, wanted, arguments):
    return type(answer) is int and answer == wanted

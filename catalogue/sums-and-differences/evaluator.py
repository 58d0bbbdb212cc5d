"""Counts all sums and differences of a set."""

import math

MAX_COUNT, LARGEST = 2003, 10**15


def score(outputs, program):
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    numbers = outputs[0]["value"]
    if not isinstance(numbers, list) or not 2 <= len(numbers) <= MAX_COUNT or not all(map(is_whole, numbers)):
        return {"error": f"numbers() must return 2 to {MAX_COUNT} whole numbers from 0 to {LARGEST}"}
    if len(set(numbers)) < len(numbers) or 0 not in numbers:
        return {"error": "the numbers must be different, and 0 one of them"}
    differences = len({one - two for one in numbers for two in numbers})
    sums = len({one + two for one in numbers for two in numbers})
    largest = max(numbers)
    # Rounded down by more than the logarithms are wrong.
    exponent = 1 + math.log(differences / sums) / math.log(2 * largest + 1) - 1e-14
    return {
        "exponent": exponent,
        "size": len(numbers),
        "feedback": f"{differences} differences, {sums} sums, largest {largest}",
        "view": {
            "series": [{"name": "numbers", "y": sorted(numbers)[:: max(1, len(numbers) // 400)], "kind": "points"}]
        },
    }


def is_whole(part):
    return isinstance(part, int) and not isinstance(part, bool) and 0 <= part <= LARGEST

"""The speed of a program in relation to a reference, after every answer was compared with the reference's.

The reference runs in the scorer's process, right after the program, on the same machine. The time of a program is
measured outside of it.
"""

import time

REPEATS = 2


def draws(seed):
    """Whole numbers below 2^31 - 1, by the generator of Lehmer, the same on every machine."""
    seed = 1000 + seed
    while True:
        seed = 48271 * seed % (2**31 - 1)
        yield seed


def score(outputs, calls, reference, correct):
    """The time of the reference over that of the program.

    Args:
        outputs: of the program, one for each call.
        calls: the arguments of each call.
        reference: computes the right answer.
        correct: whether an answer is right: `correct(answer, wanted, arguments)`.
    """
    own = theirs = 0.0
    ratios = []
    for number, (output, arguments) in enumerate(zip(outputs, calls, strict=True)):
        if output["error"]:
            return {"error": f"instance {number}: {output['error']}"}
        wanted, seconds = timed(reference, arguments)
        if not correct(output["value"], wanted, arguments):
            return {"error": f"instance {number}: the answer is wrong"}
        own += output["seconds"]
        theirs += seconds
        ratios.append(seconds / max(output["seconds"], 1e-9))
    return {
        "speedup": theirs / max(own, 1e-9),
        "feedback": f"{own * 1000:.2f} ms in all, the reference {theirs * 1000:.2f} ms",
        "view": {"series": [{"name": "speedup by instance", "y": ratios, "kind": "bars"}]},
    }


def timed(reference, arguments):
    """An answer of the reference, and the shortest of a few times that it took."""
    best, answer = float("inf"), None
    for _ in range(REPEATS):
        start = time.perf_counter()
        answer = reference(*arguments)
        best = min(best, time.perf_counter() - start)
    return answer, best

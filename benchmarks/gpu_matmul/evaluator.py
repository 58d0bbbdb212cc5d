"""Times a chain of products against torch.matmul on the same device, after every result was compared with it."""

import statistics
import time

import torch

SIZE, LINKS, STEP = 4096, 16, 256
WARMUPS, CALLS = 3, 10
TOLERANCE = 0.03  # of the norm: both round to eight bits after every product


def inputs():
    """Calls of the program, each with matrices of its own, so that no result can be kept for the next."""
    return [[seed, SIZE, LINKS, STEP] for seed in range(1, WARMUPS + CALLS + 1)]


def score(outputs, program):  # noqa: ARG001 - every scorer is given the program too
    own, theirs = [], []
    for number, (output, call) in enumerate(zip(outputs, inputs(), strict=True)):
        if output["error"]:
            return {"error": f"call {number}: {output['error']}"}
        wanted, seconds = timed(*call)
        if not close(output["value"], wanted):
            return {"error": f"call {number}: the product is wrong"}
        if number >= WARMUPS:
            own.append(output["seconds"])
            theirs.append(seconds)
    median = statistics.median(own)
    return {
        "speedup": statistics.median(theirs) / median,
        "milliseconds": median * 1000,
        "milliseconds_of_torch": statistics.median(theirs) * 1000,
        "spread": statistics.stdev(own) / median,
    }


def timed(seed, size, links, step):
    """What a program should return, and how long torch takes."""
    start = time.perf_counter()
    draws = torch.Generator("cuda").manual_seed(seed)
    left = torch.randn(size, size, generator=draws, device="cuda").bfloat16()
    right = (torch.randn(size, size, generator=draws, device="cuda") / size**0.5).bfloat16()
    for _ in range(links):
        left = torch.matmul(left, right)
    found = left[::step, ::step].float().tolist()
    return found, time.perf_counter() - start


def close(found, wanted):
    """Whether a result is that of torch, up to rounding."""
    try:
        found = torch.tensor(found, dtype=torch.float64)
    except (TypeError, ValueError):
        return False
    wanted = torch.tensor(wanted, dtype=torch.float64)
    return found.shape == wanted.shape and bool((found - wanted).norm() <= TOLERANCE * wanted.norm())

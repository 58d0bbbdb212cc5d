"""One order of the jobs for all machines: by a slope index, and the first ones inserted where they delay least.

Only what stands between the two markers may change. `order` below them makes any order a valid one.
"""

# EVOLVE-BLOCK-START
WEIGHTS = [-1.0, -0.5, 0.0, 0.5, 1.0]  # of the machines; jobs with a high sum go first
LONG = 0.0  # for jobs that take long
INSERTED = 3  # so many of the first jobs are put where they delay least, the others at the end


def ranked(times):
    """The jobs by their index."""

    def index(job):
        return sum(weight * time for weight, time in zip(WEIGHTS, times[job], strict=True)) + LONG * sum(times[job])

    return sorted(range(len(times)), key=lambda job: -index(job))


# EVOLVE-BLOCK-END


def order(times):
    """Every job once."""
    jobs = list(dict.fromkeys([*(job for job in ranked(times) if 0 <= job < len(times)), *range(len(times))]))
    found = []
    for place, job in enumerate(jobs):
        places = range(len(found) + 1) if place < INSERTED else [len(found)]
        found = min(([*found[:here], job, *found[here:]] for here in places), key=lambda jobs: makespan(jobs, times))
    return found


def makespan(jobs, times):
    free = [0] * 5
    for job in jobs:
        ready = 0
        for machine, time in enumerate(times[job]):
            ready = free[machine] = max(ready, free[machine]) + time
    return free[-1]

"""Works out the makespans of Taillard's first five flow shops, in whole numbers, from the orders of the jobs alone."""

JOBS, MACHINES = 20, 5
# Seeds of the instances ta001 to ta005 (Taillard 1993), and their shortest makespans.
INSTANCES = {"ta001": (873654221, 1278), "ta002": (379008056, 1359), "ta003": (1866992158, 1081),
             "ta004": (216771124, 1293), "ta005": (495070989, 1235)}  # fmt: skip


def times(seed):
    """Rows of times, job by job; Taillard draws them machine by machine, with a generator of Bratley et al."""
    columns = []
    for _ in range(MACHINES):
        column = []
        for _ in range(JOBS):
            seed = 16807 * seed % (2**31 - 1)
            column.append(1 + 99 * seed // (2**31 - 1))
        columns.append(column)
    return [list(row) for row in zip(*columns, strict=True)]


def inputs():
    """One call for each instance."""
    return [[times(seed)] for seed, _ in INSTANCES.values()]


def score(outputs, program):
    spans, cases, told = [], {}, []
    for (name, (seed, shortest)), output in zip(INSTANCES.items(), outputs, strict=True):
        if output["error"]:
            return {"error": f"{name}: {output['error']}"}
        order = output["value"]
        whole = isinstance(order, list) and all(isinstance(job, int) and not isinstance(job, bool) for job in order)
        if not whole or sorted(order) != list(range(JOBS)):
            return {"error": f"{name}: order() must return every job once, in the order of its start"}
        spans.append(makespan(order, times(seed)))
        cases[name] = shortest / spans[-1]
        told.append(f"{name} {spans[-1]}, at best {shortest}")
    best = sum(shortest for _, shortest in INSTANCES.values())
    return {
        "excess_percent": 100 * (sum(spans) - best) / best,
        "cases": cases,
        "feedback": "; ".join(told),
        "view": drawn(spans),
    }


def makespan(order, rows):
    """When the last job leaves the last machine; each machine takes the jobs one by one, in the same order."""
    free = [0] * MACHINES
    for job in order:
        ready = 0
        for machine, time in enumerate(rows[job]):
            ready = free[machine] = max(ready, free[machine]) + time
    return free[-1]


def drawn(spans):
    """The makespans over the shortest ones."""
    excess = [span - shortest for span, (_, shortest) in zip(spans, INSTANCES.values(), strict=True)]
    return {"series": [{"name": "above the shortest, ta001 to ta005", "y": excess, "kind": "bars"}]}

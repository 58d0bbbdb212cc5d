"""Simulates a cluster whose jobs wait by a table of weights. All times are whole numbers."""

import heapq
from fractions import Fraction

CORES, JOBS, WEIGHTS, LOADS = 32, 400, 6, 3
SCORED, UNSEEN = (17, 29, 41), (53, 67, 79)


def draws(seed):
    """Whole numbers below 2^31 - 1, by the generator of Lehmer, the same on every machine."""
    while True:
        seed = 48271 * seed % (2**31 - 1)
        yield seed


def jobs_of(seed):
    """Rows of arrival, cores, duration; a few jobs are long, and some are wide."""
    numbers, now, jobs = draws(seed), 0, []
    for _ in range(JOBS):
        now += next(numbers) % 18
        cores = 1 << next(numbers) % 5
        duration = 5 + next(numbers) % 40
        duration *= 8 if next(numbers) % 10 == 0 else 1
        jobs.append((now, cores, duration))
    return jobs


def score(outputs, program):
    return scored(outputs, SCORED)


def holdout(outputs, program):
    return scored(outputs, UNSEEN)


def scored(outputs, seeds):
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    table = outputs[0]["value"]
    if not isinstance(table, list) or len(table) != LOADS:
        return {"error": f"priority() must return {LOADS} rows"}
    for row in table:
        if not isinstance(row, list) or len(row) != WEIGHTS or not all(map(is_number, row)):
            return {"error": f"each row must have {WEIGHTS} finite numbers of at most a million"}
    slow = [slowdowns(jobs_of(seed), table) for seed in seeds]
    means = [float(sum(one) / len(one)) for one in slow]
    return {
        "mean_slowdown": float(sum(map(sum, slow)) / sum(map(len, slow))),
        "cases": [1 / mean for mean in means],
        "feedback": f"mean slowdowns {', '.join(f'{mean:.2f}' for mean in means)}",
        "view": {"series": [{"name": "slowdown, sorted", "y": sorted(map(float, slow[0]))}]},
    }


def slowdowns(jobs, table):
    """The slowdown of each job, as fractions."""
    waiting, running, found = [], [], []
    free, now, place = CORES, 0, 0
    while place < len(jobs) or waiting or running:
        if not waiting and not running:
            now = max(now, jobs[place][0])
        while place < len(jobs) and jobs[place][0] <= now:
            waiting.append(jobs[place])
            place += 1
        free += ended(running, now)
        while fitting := [job for job in waiting if job[1] <= free]:
            row = table[min(LOADS - 1, len(waiting) // 8)]
            job = max(fitting, key=lambda job: (priority(row, job, now), -job[0], -job[2]))
            waiting.remove(job)
            free -= job[1]
            heapq.heappush(running, (now + job[2], job[1]))
            found.append(Fraction(now - job[0] + job[2], max(10, job[2])))
        following = [running[0][0]] if running else []
        following += [jobs[place][0]] if place < len(jobs) else []
        now = min(following, default=now)
    return found


def ended(running, now):
    """Take the jobs out that have ended, and tell how many cores they had."""
    cores = 0
    while running and running[0][0] <= now:
        cores += heapq.heappop(running)[1]
    return cores


def priority(row, job, now):
    arrival, cores, duration = job
    wait = now - arrival
    return (
        row[0]
        + row[1] * wait
        + row[2] * cores
        + row[3] * duration
        + row[4] * cores * duration
        + row[5] * wait / duration
    )


def is_number(part):
    return isinstance(part, (int, float)) and not isinstance(part, bool) and abs(part) <= 1e6

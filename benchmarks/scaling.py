"""Workers 1, 2, 4: `python -m benchmarks.scaling`.

An evaluator that sleeps 200 ms, in the sandbox with every layer, scored by `evolve worker` processes with two slots
each, through PostgreSQL and Redis. Linear is as many times the rate of one worker as there are workers; the ideal
is that every slot scores five candidates a second.
"""

import time
from contextlib import ExitStack
from pathlib import Path

from benchmarks.harness import arguments, report, scratch
from benchmarks.processes import Service, open_service, problem_files

SLEEP_SECONDS = 0.2


def rate(service: Service, workers: int, slots: int, seconds: float) -> float:
    with ExitStack() as stack:
        stack.enter_context(service.role("runner"))
        for _ in range(workers):
            stack.enter_context(service.role("worker", "--slots", str(slots)))
        files = problem_files("sleeping", SLEEP_SECONDS)
        run = service.submit("sleeping", files, budget={"evaluations": 1_000_000}, concurrency={"policy": 4})
        time.sleep(3)  # all workers are heard of
        found = service.rate(run, 10 * workers, seconds)
        service.cancel(run)
    return found


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    with scratch() as folder, open_service(Path(folder)) as service:
        rates = {count: rate(service, count, options.slots, options.seconds) for count in options.workers}
    first = rates[options.workers[0]] / options.workers[0]
    figures = {
        "slots_per_worker": options.slots,
        "candidates_per_second": {count: round(found, 2) for count, found in rates.items()},
        "of_linear": {count: round(found / (first * count), 4) for count, found in rates.items()},
        "of_ideal": {
            count: round(found * SLEEP_SECONDS / (count * options.slots), 4) for count, found in rates.items()
        },
    }
    report("scaling", figures, options.out)


if __name__ == "__main__":
    main()

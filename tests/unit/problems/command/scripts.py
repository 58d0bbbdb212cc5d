"""Scripts that are program and scorer at once, in the manner of pyperformance's benchmarks."""

QUEENS = '''\
"""Queens on a board, timed."""
import time

SIZE = 6


def permutations(items, chosen=()):
    if not items:
        yield chosen
    for index, item in enumerate(items):
        yield from permutations(items[:index] + items[index + 1 :], (*chosen, item))


def queens(count):
    columns = tuple(range(count))
    for vector in permutations(columns):
        if count == len({vector[i] + i for i in columns}) == len({vector[i] - i for i in columns}):
            yield vector


def bench_queens(count):
    list(queens(count))


def main():
    start = time.perf_counter()
    bench_queens(SIZE)
    print(f"queens: Mean +- std dev: {1000 * (time.perf_counter() - start):.3f} ms +- 0 ms")


if __name__ == "__main__":
    main()
'''

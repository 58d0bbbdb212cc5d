"""Cost of traces that are switched off, per use: `python -m benchmarks.tracing`.

Processor time of the calling thread: the least of many rounds, without that of an empty function.
"""

import time
from collections.abc import Callable
from types import MappingProxyType

from benchmarks.harness import arguments, report
from evolve.evaluation import Evaluation, Outcome
from evolve.ports import NO_TRACER
from evolve.program import Program
from evolve.proposal import Candidate, Individual, Proposal
from service import tracing

PROGRAM = Program.of({"program.py": "x = 1\n"})
EVALUATION = Evaluation(outcome=Outcome.OK)
PARENT = Individual(candidate_id="", program=PROGRAM, evaluation=EVALUATION, measures={})
PROPOSAL = Proposal(id="prp_1", number=1, island=0, operator="mutate", parent=PARENT)
CANDIDATE = Candidate(id="cnd_1", proposal_number=1, position=0, island=0, program=PROGRAM, fingerprint="")
ATTRIBUTES = MappingProxyType({"evolve.run.id": "run_1", "evolve.event.count": 50})


def nothing() -> None:
    pass


def proposal() -> None:
    with NO_TRACER.proposal(PROPOSAL):
        pass


def evaluation() -> None:
    with NO_TRACER.evaluation(CANDIDATE) as ended:
        ended(EVALUATION)


def span() -> None:
    with tracing.span("commit events", attributes=ATTRIBUTES):
        pass


def nanoseconds(function: Callable[[], None], rounds: int, calls: int) -> float:
    found = []
    for _ in range(rounds):
        began = time.thread_time_ns()
        for _ in range(calls):
            function()
        found.append((time.thread_time_ns() - began) / calls)
    return min(found)


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--calls", type=int, default=20_000)
    options = parser.parse_args()
    empty = nanoseconds(nothing, options.rounds, options.calls)
    figures = {
        function.__name__: round(nanoseconds(function, options.rounds, options.calls) - empty)
        for function in (proposal, evaluation, span)
    }
    report("tracing", {"nanoseconds": figures}, options.out)


if __name__ == "__main__":
    main()

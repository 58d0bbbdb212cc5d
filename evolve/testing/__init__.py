"""Contract suites for extensions: the rules that the parts that come with Evolve are held to.

A rule is a function that takes what you extend the search with, and raises `AssertionError` with one sentence where the
rule does not hold. A suite is a tuple of rules. It needs no test framework; with pytest:

    import pytest
    from evolve.testing import SELECTION_RULES
    from my_package import Greedy

    @pytest.mark.parametrize("rule", SELECTION_RULES)
    def test_greedy_is_a_selection(rule):
        rule(Greedy)
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from evolve.archives import ArchiveFactory, Insertion, Status, add, open_archive
from evolve.archives.population import Population
from evolve.configuration import ArchiveConfig, RunConfig
from evolve.credit.operators import Credit, Operator, open_operator
from evolve.errors import ExtensionError
from evolve.evaluation import Evaluation, Outcome
from evolve.extensions import ExtensionKind, Extensions, own_name
from evolve.identity import candidate_id
from evolve.lineage import Lineage
from evolve.policies import GuardedPolicy, PolicyContext, PolicyKind
from evolve.ports import Policy
from evolve.problem import EvaluatorSpec, Measure, Objective, Problem
from evolve.problem_formats import ConversionError, ProblemFolder, ProblemFormat, open_format
from evolve.program import Program
from evolve.proposal import Individual, Message, Prompt, Proposal, Reply
from evolve.runtimes import Runtime, RuntimeCommand, RuntimeContext, open_runtime
from evolve.search.islands import Island
from evolve.search.state import SearchState
from evolve.search.stopping import StoppingRule, open_stopping_rule
from evolve.search.strategies import ProposalPlan, StrategyFactory, open_strategy
from evolve.selection import ArchiveView, Select, Selected, SelectionParams, open_selection
from evolve.testing.domains import DOMAIN_RULES as DOMAIN_RULES
from evolve.testing.trackers import TRACKER_RULES as TRACKER_RULES

SelectionMaker = Select | type[Select]
FormatMaker = ProblemFormat | type[ProblemFormat]

_NAME = "tested:it"  # of the form that a configuration takes
_DRAWS = 20
_MAINS = ("main.txt", "folder/program.c")
_SETTINGS = {"answers": 2, "samples": 2, "concurrency": 2}
_WIDTHS = (1, 2, 4)  # numbers of objectives
_SIZES = (1, 2, 40)  # members of a population


def chooses_a_member(selection: SelectionMaker) -> None:
    """A selection returns the place of a member, whatever the members are."""
    for view in _views():
        _draw(selection, view, 0)


def repeats_its_choices(selection: SelectionMaker) -> None:
    """Under equal random streams a selection makes equal choices: all that is random comes from `rng`."""
    for first, second in zip(_views(), _views(), strict=True):
        same = _draw(selection, first, 1) == _draw(selection, second, 1)
        _require(same, "it chose differently under the same random stream: draw from rng alone, and keep no state")


def leaves_the_members(selection: SelectionMaker) -> None:
    """A selection changes nothing of the population."""
    for view in _views():
        before = _contents(view.members)
        _draw(selection, view, 2)
        _require(_contents(view.members) == before, "it changed the population that it chose from")


SELECTION_RULES: tuple[Callable[[SelectionMaker], None], ...] = (
    chooses_a_member,
    repeats_its_choices,
    leaves_the_members,
)


def tells_what_it_did(archive: ArchiveFactory) -> None:
    """`offer` changes nothing, `apply` does what it returned; the first individual is kept."""
    for problem in _problems():
        _fill(archive, problem)


def refuses_who_is_in(archive: ArchiveFactory) -> None:
    """A member that is offered again is a duplicate, and changes nothing."""
    for problem in _problems():
        before, after = _fill(archive, problem), _fill(archive, problem, again=16)
        statuses = {insertion.status for insertion in after[0][len(before[0]) :]}
        _require(statuses == {Status.DUPLICATE}, f"members that were offered again were {', '.join(statuses)}")
        _require(_contents(before[1]) == _contents(after[1]), "offering members again changed the archive")


def repeats_its_decisions(archive: ArchiveFactory) -> None:
    """Two archives that are offered the same hold the same: a run that is resumed offers again what it offered."""
    for problem in _problems():
        same = _fill(archive, problem)[0] == _fill(archive, problem)[0]
        _require(same, "it decided differently about the same individuals: a run could not be resumed")


ARCHIVE_RULES: tuple[Callable[[ArchiveFactory], None], ...] = (
    tells_what_it_did,
    refuses_who_is_in,
    repeats_its_decisions,
)


def plans_with_what_there_is(strategy: StrategyFactory) -> None:
    """Each plan starts from an individual that the run holds, on an island that there is."""
    for problem in _problems():
        _plans(strategy, problem, 3)


def repeats_its_plans(strategy: StrategyFactory) -> None:
    """Under equal random streams a strategy makes equal plans: all that is random comes from `rng`."""
    for problem in _problems():
        same = _plans(strategy, problem, 4) == _plans(strategy, problem, 4)
        _require(same, "it planned differently under the same random stream: draw from rng alone")


STRATEGY_RULES: tuple[Callable[[StrategyFactory], None], ...] = (plans_with_what_there_is, repeats_its_plans)


def decides_by_progress(rule: StoppingRule | type[StoppingRule]) -> None:
    """A stopping rule answers with a bool, the same for equal progress, from the first evaluation on."""
    problem = next(_problems())
    for found in ([], [(1, 0.0)], [(1, 0.0), (40, 0.5), (400, 1.0)]):
        state = SearchState(problem, RunConfig())
        state.improvements += found
        state.best = replace(next(_individuals(problem, 1)), fitness=found[-1][1]) if found else None
        state.account.evaluations = found[-1][0] * 2 if found else 0
        answers = [_stops(rule, state) for _ in range(2)]
        _require(answers[0] == answers[1], "it decided differently about equal progress: keep no state")


def asks_for_programs(operator: Operator | Callable[[], Operator]) -> None:
    """An operator has a request of its own, which tells how many programs are asked for."""
    with _tested(ExtensionKind.OPERATOR, operator) as extensions:
        asked = open_operator(_NAME, extensions).policy_request("one program")
    _require("one program" in asked, "its request does not tell how many programs are asked for")


OPERATOR_RULES: tuple[Callable[[Operator | Callable[[], Operator]], None], ...] = (asks_for_programs,)

STOPPING_RULES: tuple[Callable[[StoppingRule | type[StoppingRule]], None], ...] = (decides_by_progress,)


def answers_what_was_asked(kind: PolicyKind) -> None:
    """A policy answers with texts, no more than were asked for, and at last with one `CompletedReply`."""

    async def ask(policy: Policy, problem: Problem) -> None:
        for number in range(1, 4):
            for limit in (1, policy.answers * policy.samples):
                await _replies(policy, _proposal(problem, policy, number, limit))

    _with_policy(kind, ask)


def answers_several_at_once(kind: PolicyKind) -> None:
    """A policy answers as many proposals at once as its `concurrency` says."""

    async def ask(policy: Policy, problem: Problem) -> None:
        proposals = [_proposal(problem, policy, number, 1) for number in range(1, min(policy.concurrency, 4) + 1)]
        await asyncio.gather(*(_replies(policy, proposal) for proposal in proposals))

    _with_policy(kind, ask)


def can_be_left(kind: PolicyKind) -> None:
    """A proposal that is given up in the middle ends its call, and the policy answers the next one."""

    async def leave(policy: Policy, problem: Problem) -> None:
        replies = policy.propose(_proposal(problem, policy, 1, policy.answers))
        await anext(replies)
        await replies.aclose()
        await _replies(policy, _proposal(problem, policy, 2, policy.answers))

    _with_policy(kind, leave)


POLICY_RULES: tuple[Callable[[PolicyKind], None], ...] = (
    answers_what_was_asked,
    answers_several_at_once,
    can_be_left,
)


def gives_a_command(runtime: Runtime | type[Runtime]) -> None:
    """A runtime gives words of commands, of which one is the file that is run; what it opens are absolute paths."""
    for main in _MAINS:
        given = _command(runtime, main)
        words = (*given.build, *given.command)
        _require(any(main in word for word in words), f"neither build nor command name the file {main}")


def repeats_its_commands(runtime: Runtime | type[Runtime]) -> None:
    """Equal programs get equal commands: each worker asks for them anew."""
    for main in _MAINS:
        _require(_command(runtime, main) == _command(runtime, main), "it gave other commands for the same program")


RUNTIME_RULES: tuple[Callable[[Runtime | type[Runtime]], None], ...] = (gives_a_command, repeats_its_commands)


def recognises_its_form(form: FormatMaker, folder: ProblemFolder) -> None:
    """A format recognises a folder of its form by files that lie there, and neither an empty one nor one of texts."""
    with _tested(ExtensionKind.PROBLEM_FORMAT, form) as extensions:
        opened = open_format(_NAME, extensions)
        found = opened.recognise(folder)
        _require(bool(opened.title), "it has no title")
        _require(found is not None and found.complete, "it does not recognise the folder as complete")
        strange = [path for path in found.files if path not in folder.files] if found else []
        _require(not strange, f"it names files that are not there: {strange}")
        for other in ({}, {"notes.txt": b"none", "data/table.csv": b"1,2"}):
            _require(opened.recognise(ProblemFolder(files=other)) is None, "it recognises a folder without a program")


def converts_equally(form: FormatMaker, folder: ProblemFolder) -> None:
    """Equal folders get equal problems, and the folder stays as it is."""
    with _tested(ExtensionKind.PROBLEM_FORMAT, form) as extensions:
        before = dict(folder.files)
        first, second = (open_format(_NAME, extensions).convert(folder) for _ in range(2))
        _require(first == second, "it made two problems of one folder: decide by the files alone")
        _require(dict(folder.files) == before, "it changed the folder")


def refuses_half_a_form(form: FormatMaker, folder: ProblemFolder) -> None:
    """Without one of the files by which it was recognised, a folder is another form, or a `ConversionError`."""
    with _tested(ExtensionKind.PROBLEM_FORMAT, form) as extensions:
        opened = open_format(_NAME, extensions)
        found = opened.recognise(folder)
        for path in found.files if found else ():
            half = replace(folder, files={name: text for name, text in folder.files.items() if name != path})
            if (still := opened.recognise(half)) is not None and not still.complete:
                try:
                    opened.convert(half)
                except ConversionError:
                    continue
                _require(False, f"it converted a folder that lacks {path}")


PROBLEM_FORMAT_RULES: tuple[Callable[[FormatMaker, ProblemFolder], None], ...] = (
    recognises_its_form,
    converts_equally,
    refuses_half_a_form,
)


def _command(runtime: Runtime | type[Runtime], main: str) -> RuntimeCommand:
    with _tested(ExtensionKind.RUNTIME, runtime) as extensions:
        return open_runtime(_NAME, RuntimeContext(main=main, language="text"), extensions)


def _with_policy(kind: PolicyKind, work: Callable[[Policy, Problem], Awaitable[None]]) -> None:
    """Do something with a policy of a kind, guarded as in a run."""
    problem = next(_problems())
    context = PolicyContext(name="tested", problem=problem, settings=_SETTINGS, build_prompt=_build_prompt)

    async def run(extensions: Extensions) -> None:
        policy = GuardedPolicy(*extensions.resolve(ExtensionKind.POLICY, _NAME), context)
        try:
            await policy.check()
            await work(policy, problem)
        finally:
            await policy.close()

    with _tested(ExtensionKind.POLICY, kind) as extensions:
        asyncio.run(run(extensions))


def _build_prompt(proposal: Proposal, *, count: Callable[[str], int] = len, context_tokens: int = 16384) -> Prompt:
    texts = [f"Write {proposal.answers} better programs.", *(text for _, text in proposal.parent.program.files)]
    tokens = sum(map(count, texts))
    _require(tokens <= context_tokens, f"it left room for {context_tokens} tokens, and the prompt has {tokens}")
    return Prompt(messages=(Message(role="user", parts=tuple(texts)),), tokens=tokens)


def _proposal(problem: Problem, policy: Policy, number: int, limit: int) -> Proposal:
    return Proposal(
        id=f"prp_{number}",
        number=number,
        island=0,
        operator="mutate",
        parent=replace(next(_individuals(problem, 1)), program=problem.seeds[0]),
        seed=number,
        answers=policy.answers,
        samples=policy.samples,
        limit=limit,
    )


async def _replies(policy: Policy, proposal: Proposal) -> list[Reply]:
    return [reply async for reply in policy.propose(proposal)]


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise AssertionError(sentence)


def _stops(rule: StoppingRule | type[StoppingRule], state: SearchState) -> list[str | None]:
    with _tested(ExtensionKind.STOPPING_RULE, rule) as extensions:
        stops = open_stopping_rule(RunConfig(stopping_rule=_NAME), extensions)
        return [stops(state, seconds) for seconds in (0.0, 1.0, 3600.0)]


@contextmanager
def _tested(kind: ExtensionKind, value: object) -> Iterator[Extensions]:
    """Resolves a name to what is tested, guarded as in a run; what breaks the contract fails the rule."""
    try:
        yield Extensions({(kind, _NAME): value})
    except ExtensionError as error:
        raise AssertionError(str(error).replace(_NAME, own_name(value))) from error


def _draw(selection: SelectionMaker, view: ArchiveView, seed: int) -> list[Selected]:
    rng = np.random.default_rng([seed, len(view)])
    with _tested(ExtensionKind.SELECTION, selection) as extensions:
        select = open_selection(_NAME, extensions)
        return [select(view, rng, SelectionParams()) for _ in range(_DRAWS)]


def _fill(archive: ArchiveFactory, problem: Problem, again: int = 0) -> tuple[list[Insertion], Population]:
    """What became of individuals in a new archive, the last ones of which are offered once more."""
    with _tested(ExtensionKind.ARCHIVE, archive) as extensions:
        own = open_archive(problem, ArchiveConfig(kind=_NAME, size=16), 0, extensions)
        told = [add(own, individual) for individual in _individuals(problem, 60)]
        told += [add(own, member) for member in list(own.members)[:again]]
    return told, own.members


def _plans(strategy: StrategyFactory, problem: Problem, seed: int) -> list[ProposalPlan]:
    config, lineage = RunConfig(islands=3), Lineage()
    islands = [Island(number, problem, config, lineage) for number in range(3)]
    individuals = list(_individuals(problem, 30))
    for number, individual in enumerate(individuals):
        _evaluate(lineage, number, individual, individuals[0])
        for island in islands if number == 0 else [islands[number % 3]]:
            add(island.archive, individual)
    seeds = individuals[:1]
    with _tested(ExtensionKind.STRATEGY, strategy) as extensions:
        made = open_strategy(problem, replace(config, strategy=_NAME), seeds, Credit(), extensions)
        return [made.plan(number, islands, seeds[0], np.random.default_rng([seed, number])) for number in range(1, 20)]


def _problems() -> Iterator[Problem]:
    for width in _WIDTHS:
        yield Problem(
            name="tested",
            seeds=(Program.of({"seed.py": "x = 0"}),),
            evaluator=EvaluatorSpec(entry="evaluator.py"),
            objectives=tuple(Objective(name=f"objective_{number}", low=0.0, high=1.0) for number in range(width)),
            measures=(Measure(name="size", bins=5, low=0.0, high=1.0),),
        )


def _individuals(problem: Problem, count: int) -> Iterator[Individual]:
    """Individuals of a problem, equal ones and the best and the worst among them."""
    rng, width = np.random.default_rng(count), len(problem.objectives)
    for number in range(count):
        row = tuple(float(value) for value in rng.integers(0, 5, size=width) / 4)
        yield Individual(
            candidate_id=candidate_id("run_tested", number, 0),
            program=Program.of({"seed.py": f"x = {number}"}),
            evaluation=Evaluation(
                outcome=Outcome.OK, cases={f"case_{case}": float(rng.integers(2)) for case in range(4)}
            ),
            fitness=sum(row) / width,
            rewards=row,
            signed_scores=row,
            measures={"size": float(rng.random())},
        )


def _views() -> Iterator[ArchiveView]:
    for problem in _problems():
        for size in _SIZES:
            members, lineage = Population(len(problem.objectives)), Lineage()
            individuals = list(_individuals(problem, size))
            for number, individual in enumerate(individuals):
                members.add(individual)
                _evaluate(lineage, number, individual, individuals[0])
            yield ArchiveView(members, lineage, problem.objective_names, (0.0,) * len(problem.objectives))


def _evaluate(lineage: Lineage, number: int, individual: Individual, seed: Individual) -> None:
    if number:
        lineage.propose(number, seed.candidate_id)
    lineage.evaluate(individual.candidate_id, number, individual.fitness, individual.rewards)


def _contents(members: Population) -> tuple[list[str], list[list[float]], list[float]]:
    return [one.candidate_id for one in members], members.rewards.tolist(), members.fitness.tolist()

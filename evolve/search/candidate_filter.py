"""Admission: which program an answer makes, and whether that is worth an evaluation."""

from collections.abc import Iterable, Sequence

from evolve.answers.edit import Child
from evolve.answers.repository_edits import child_of
from evolve.errors import AnswerError, ProgramError
from evolve.problem import Problem
from evolve.program import MAX_PROGRAM_CHARACTERS, Program
from evolve.proposal import Answer, Candidate, Proposal
from evolve.search.state import SearchState
from evolve.similarity.similarity import SimilarityCheck
from evolve.similarity.vectors import Vector


class AnswerFilter:
    """Judges what answers make by what the archives of a run hold.

    Where children are compared by their embeddings, whoever tells the search an answer hands in the vector of what it
    makes before (`wanted`, `see`), and once, before the first, those of all that it may be compared with (`owed`). An
    answer's program is embedded whether or not another brought it too: what a run pays does not depend on which of its
    answers comes first, nor does a comparison hang on where a program was made: those that migrate to an island that
    compares by embeddings have vectors too. What has none is not compared.

    Args:
        problem: what is searched for.
        state: of the search.
    """

    def __init__(self, problem: Problem, state: SearchState) -> None:
        self._language, self._repository = problem.language, problem.repository
        self._state = state
        self._similarity = SimilarityCheck([island.config.novelty for island in state.islands], problem.language)

    def child(self, proposal: Proposal, answer: Answer) -> Child:
        """What an answer makes of its parent.

        Raises:
            AnswerError, ProgramError: it makes none.
        """
        child = child_of(self._repository, proposal.parent.program, answer.text, answer.edits, self._language)
        if child.program.size > MAX_PROGRAM_CHARACTERS:
            maximum = f"at most {MAX_PROGRAM_CHARACTERS:,} are taken"
            raise AnswerError(f"the program has {child.program.size:,} characters; {maximum}")
        return child

    def refuse_near(self, candidate: Candidate) -> None:
        """Refuse what is hardly new on its island.

        Raises:
            AnswerError: it is; the text names what it is near to.
        """
        if candidate.fingerprint not in self._state.seen:  # a duplicate is told as one
            members = self._state.islands[candidate.island].archive.members
            objection = self._similarity.objection(candidate.program, candidate.island, members)
            if objection:
                raise AnswerError(objection)

    def wanted(self, number: int, answer: Answer) -> Program | None:
        """The program whose vector is wanted before an answer is told; None: the answer makes none, or was told."""
        entry = self._state.open.get(number)
        if entry is None or entry.proposal is None or entry.proposal.position(answer) in (None, *entry.taken):
            return None
        try:
            return self.child(entry.proposal, answer).program
        except (AnswerError, ProgramError):
            return None

    def owed(self) -> list[Program]:
        """The programs that children may be compared with and that have no vector: after a start, and a resume."""
        vectors = self._similarity.vectors
        return list({program.id: program for program in self._living() if program.id not in vectors}.values())

    def see(self, number: int, programs: Sequence[Program], vectors: Sequence[Vector | None]) -> None:
        """Take vectors of programs; as `Vectors.add` takes them."""
        known = self._similarity.vectors
        known.add(number, programs, vectors)
        if known.full:
            known.keep({program.id for program in self._living()}, self._state.open)

    def _living(self) -> Iterable[Program]:
        """The members of the archives, and what may become one."""
        for island in self._state.islands:
            yield from (member.program for member in island.archive.members)
        yield from (candidate.program for candidate in self._state.pending.values())

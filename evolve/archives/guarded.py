"""Archives of others: what they do is checked, so that a mistake ends a run with its name and spoils nothing."""

from evolve.archives.archive import Archive, Insertion
from evolve.archives.population import Population
from evolve.errors import ExtensionError
from evolve.extensions import Extension, guarded
from evolve.proposal import Individual


class GuardedArchive:
    """An archive of an extension, held to the contract of `Archive`.

    Args:
        extension: names it in errors.
        archive: the archive itself.

    Attributes:
        members: what it holds; the same population for as long as it is used.

    Raises:
        ExtensionError: it has no members, or is not empty.
    """

    def __init__(self, extension: Extension, archive: Archive) -> None:
        with guarded(extension, "could not be made"):
            members: object = archive.members
        self._extension, self._archive = extension, archive
        if not isinstance(members, Population):
            raise self._broken(f"its members are of type {type(members).__name__}, not a Population")
        if len(members):
            raise self._broken("a new one is not empty")
        if not callable(getattr(archive, "remove", None)):
            raise self._broken("it has no method remove, by which a banned candidate leaves it")
        self.members = members

    def offer(self, individual: Individual) -> Insertion:
        """Decide about an individual.

        Raises:
            ExtensionError: the archive raised something, changed, or decides what it cannot do.
        """
        version = self.members.version
        with guarded(self._extension):
            insertion: object = self._archive.offer(individual)
        if not isinstance(insertion, Insertion):
            raise self._broken(f"offer returned a value of type {type(insertion).__name__}, not an Insertion")
        if self.members.version != version or self._archive.members is not self.members:
            raise self._broken("offer changed its members: only apply may")
        if insertion.kept and individual.candidate_id in self.members:
            raise self._broken(f"offer returned {insertion.status} for a member")
        if any(candidate_id not in self.members for candidate_id in insertion.displaced):
            raise self._broken("offer displaces who is not a member")
        if not insertion.kept and len(self.members) == len(insertion.displaced):
            raise self._broken("it keeps nothing: it must hold the first individual that it is offered")
        return insertion

    def apply(self, individual: Individual, insertion: Insertion) -> None:
        """Do as decided.

        Raises:
            ExtensionError: the archive raised something, or did something else.
        """
        before = {member.candidate_id for member in self.members} - set(insertion.displaced)
        with guarded(self._extension):
            self._archive.apply(individual, insertion)
        if self._archive.members is not self.members:
            raise self._broken("its members are another population than at first")
        after = {member.candidate_id for member in self.members}
        if after != (before | {individual.candidate_id} if insertion.kept else before):
            raise self._broken(f"apply did not do what was decided: {insertion.status}")

    def remove(self, candidate_id: str) -> None:
        """Remove a member.

        Raises:
            ExtensionError: the archive raised something, or did something else.
        """
        before = {member.candidate_id for member in self.members}
        with guarded(self._extension):
            self._archive.remove(candidate_id)
        if self._archive.members is not self.members:
            raise self._broken("its members are another population than at first")
        if {member.candidate_id for member in self.members} != before - {candidate_id}:
            raise self._broken("remove did something else than to remove one member")

    def _broken(self, what: str) -> ExtensionError:
        return ExtensionError(f"{self._extension} breaks the contract of archives: {what}")

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
        self.members = members

    def add(self, individual: Individual) -> Insertion:
        """Offer an individual.

        Raises:
            ExtensionError: the archive raised something, or says what it did not do.
        """
        before = {member.candidate_id for member in self.members}
        with guarded(self._extension):
            insertion: object = self._archive.add(individual)
        if not isinstance(insertion, Insertion):
            raise self._broken(f"add returned a value of type {type(insertion).__name__}, not an Insertion")
        if self._archive.members is not self.members:
            raise self._broken("its members are another population than at first")
        after = {member.candidate_id for member in self.members}
        told = before - set(insertion.displaced)
        if after != (told | {individual.candidate_id} if insertion.kept else told):
            raise self._broken(f"add returned {insertion.status}, which does not tell what it holds now")
        if not after:
            raise self._broken("it keeps nothing: it must hold the first individual that it is offered")
        return insertion

    def _broken(self, what: str) -> ExtensionError:
        return ExtensionError(f"{self._extension} breaks the contract of archives: {what}")

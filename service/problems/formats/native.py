"""Evolve's own form: a folder with `problem.toml`."""

from evolve.problem_formats import FILE, ConversionError, ConvertedProblem, ProblemFolder, RecognisedFiles
from service.errors import InvalidProblemError
from service.problems.domains.expand import written_out
from service.problems.folder import Folder


class NativeFormat:
    """A folder with `problem.toml`, in which a `[domain]` is written out."""

    title = "a problem of Evolve"

    def recognise(self, folder: ProblemFolder) -> RecognisedFiles | None:
        """As the protocol says."""
        return RecognisedFiles(files=(FILE,)) if FILE in folder.files else None

    def convert(self, folder: ProblemFolder) -> ConvertedProblem:
        """As the protocol says.

        Raises:
            ConversionError: there is no `problem.toml`, or its table `[domain]` cannot be written out.
        """
        if FILE not in folder.files:
            raise ConversionError(f"{FILE} is missing: make a problem with `evolve problem init DIR`")
        try:
            return ConvertedProblem(files=written_out(Folder(files=folder.files)).files)
        except InvalidProblemError as error:
            raise ConversionError(*error.complaints) from error

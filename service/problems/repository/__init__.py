"""Problems whose programs are changes of a git commit: the commit as files of the problem, read back without git."""

"""Problems made of a command that prints a score, and of the files that it runs on."""

"""Questions of the domains as problems: a table `[domain]` of `problem.toml`, written out as an ordinary problem."""

"""Workers take evaluation tasks and give results; they know no database, no run, no policy and no secret."""

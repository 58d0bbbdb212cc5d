"""The tuner: a policy that moves the numbers of good programs, by CMA-ES and without a model."""

"""The trainer: takes training jobs by a lease, runs their back ends, and stores the versions that come of them."""

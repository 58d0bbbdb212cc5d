"""Launchers start workers where machines are: on Ray, Dask, Slurm and Kubernetes. Workers dial out by themselves."""

"""The problem formats that come with Evolve, one module for each form."""

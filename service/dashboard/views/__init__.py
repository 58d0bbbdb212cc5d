"""Views: each answers one question about runs; a module holds its routes and what its template is given."""

from service.dashboard.views import people, run, runs, runs_bulk

ROUTERS = (
    people.router,
    runs.router,  # before the pages of one run: /runs/new is none
    runs_bulk.router,
    run.router,
)

"""Views: each answers one question about runs; a module holds its routes and what its template is given."""

from service.dashboard.views import people, run

ROUTERS = (
    people.router,
    run.router,
)

"""Views: each answers one question about runs; a module holds its routes and what its template is given."""

from service.dashboard.views import (
    admin,
    admin_keys,
    admin_webhooks,
    lineage,
    people,
    run,
    runs,
    runs_bulk,
    share,
    shared,
)

ROUTERS = (
    people.router,
    runs.router,  # before the pages of one run: /runs/new is none
    runs_bulk.router,
    run.router,
    lineage.router,
    share.router,
    shared.router,
    admin.router,
    admin_keys.router,
    admin_webhooks.router,
)

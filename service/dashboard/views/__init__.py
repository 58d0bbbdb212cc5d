"""Views: each answers one question about runs; a module holds its routes and what its template is given."""

from service.dashboard.views import (
    admin,
    admin_keys,
    admin_webhooks,
    ancestry,
    fork,
    lineage,
    notes,
    people,
    program,
    programs,
    proposals,
    run,
    runs,
    runs_bulk,
    share,
    shared,
    submit,
)

ROUTERS = (
    people.router,
    runs.router,  # before the pages of one run: /runs/new is none
    runs_bulk.router,
    submit.router,
    fork.router,
    run.router,
    programs.router,
    program.router,
    notes.router,
    ancestry.router,
    proposals.router,
    lineage.router,
    share.router,
    shared.router,
    admin.router,
    admin_keys.router,
    admin_webhooks.router,
)

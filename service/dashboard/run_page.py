"""What every page about one run shows around its own content: name, state, controls and the ways to the others."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Path, Request
from fastapi.responses import HTMLResponse

from service.client import AsyncClient, calls
from service.dashboard.pages import may, render
from service.identifiers import short_id
from service.schemas.runs import Run

ENDED = frozenset({"succeeded", "failed", "cancelled"})
AT_WORK = frozenset({"queued", "running"})
RunId = Annotated[str, Path(max_length=100)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    """One of the pages about a run.

    Attributes:
        group: the heading under which it stands.
        key: what is pressed after `g` to get there.
    """

    group: str
    name: str
    title: str
    key: str
    path: str

    def of(self, run_id: str) -> str:
        """Its address for a run."""
        return f"/runs/{run_id}{self.path}"


TABS = (
    Tab(group="Result", name="overview", title="Overview", key="o", path=""),
    Tab(group="Result", name="candidates", title="Candidates", key="p", path="/candidates"),
    Tab(group="Result", name="lineage", title="Lineage", key="l", path="/lineage"),
    Tab(group="Result", name="objectives", title="Objectives", key="b", path="/objectives"),
    Tab(group="Result", name="share", title="Share", key="x", path="/share"),
    Tab(group="Search", name="setup", title="Setup", key="s", path="/setup"),
    Tab(group="Search", name="islands", title="Islands", key="i", path="/islands"),
    Tab(group="Search", name="grid", title="Grid", key="g", path="/grid"),
    Tab(group="Search", name="map", title="Map", key="t", path="/map"),
    Tab(group="Search", name="diversity", title="Diversity", key="v", path="/diversity"),
    Tab(group="Search", name="metrics", title="Metrics", key="m", path="/metrics"),
    Tab(group="Model", name="policy", title="Policy", key="y", path="/policy"),
    Tab(group="Model", name="proposals", title="Chains", key="h", path="/proposals"),
    Tab(group="Log", name="events", title="Events", key="e", path="/events"),
)


def run_title(run: Run) -> str:
    """What a run is called by people: its label `name`, else problem, seed and the end of its short id."""
    return run.labels.get("name") or f"{run.problem} · seed {run.seed} · {short_id(run.id)[-4:]}"


NEEDED = {"delete": "runs:write"}  # all else that is asked of runs needs to control them


def allowed(run: Run) -> frozenset[str]:
    """What may be asked of a run as it stands."""
    if run.state in ENDED:
        continued = {"succeeded": {"extend"}, "failed": {"extend", "resume"}}
        return frozenset({"delete", *continued.get(run.state, ())})
    if run.state == "paused":
        return frozenset({"resume", "cancel", "extend", "delete"})
    if run.state in AT_WORK:
        return frozenset({"pause", "cancel", "extend"})
    return frozenset({"extend"} if run.state == "pausing" else ())


async def render_run(
    request: Request, api: AsyncClient, run: Run | str, template: str, tab: str, **values: Any
) -> HTMLResponse:
    """A page about a run.

    Args:
        run: the run, or its id, where it has not been read yet.
        tab: name of the page among `TABS`.
    """
    if isinstance(run, str):
        run = await api.send(calls.get_run(run))
    return render(
        request,
        template,
        run=run,
        run_title=run_title(run),
        other_labels=", ".join(f"{key}={value}" for key, value in run.labels.items() if key != "name"),
        tabs=TABS,
        tab=tab,
        allowed={one for one in allowed(run) if may(request, NEEDED.get(one, "runs:control"))},
        ended=run.state in ENDED,
        **values,
    )

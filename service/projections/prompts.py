"""The prompt pool of a run: its prompts with their proposals and gain, from the events."""

from evolve.configuration.run import MAX_PROMPTS
from evolve.events import EventKind
from evolve.search.prompt_pool import PoolPrompt, PromptPool
from service.ports import RunReader, RunRecord
from service.schemas.statistics import PromptYield

_KINDS = (
    EventKind.PROPOSAL_CREATED,
    EventKind.CANDIDATE_CREATED,
    EventKind.CANDIDATE_EVALUATED,
    EventKind.PROMPT_WRITTEN,
    EventKind.PROPOSAL_ANSWERED,
    EventKind.PROPOSAL_FAILED,
)


def prompt_yields(reader: RunReader, run: RunRecord) -> list[PromptYield]:
    """The prompts of a run's pool, the best first; none where the pool is off."""
    maximum = int(run.config.get("prompt_pool") or 0)
    if not 1 < maximum <= MAX_PROMPTS:
        return []
    pool = PromptPool(maximum)
    for logged in reader.events(run.id, kinds=[str(kind) for kind in _KINDS]):
        pool.fold(logged.event.data)
    order = sorted(pool.prompts.values(), key=lambda prompt: (-prompt.gain, prompt.number))
    return [_yield(prompt) for prompt in order]


def _yield(prompt: PoolPrompt) -> PromptYield:
    return PromptYield(
        number=prompt.number,
        parent=prompt.parent if prompt.number else None,
        problem=prompt.problem,
        request=prompt.request,
        proposals=prompt.arm.visits,
        evaluations=prompt.evaluations,
        gain=prompt.gain,
        retired=prompt.retired,
    )

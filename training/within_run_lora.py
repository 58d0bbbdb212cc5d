"""Updates of a LoRA adapter within a run, on answers that the run already has and near to the policy of the start."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from training.adapter_files import TRAINED, Report, save_adapter, write_card
from training.answered_prompts import (
    MAX_NORM,
    PASSES,
    AnsweredPrompt,
    Message,
    TaughtPrompt,
    UpdateSettings,
    batch_figures,
    best_replies,
    minibatches_of,
    policy_loss,
    read_prompts,
    rewards_of,
    taught_prompts,
)
from training.base_model import adapter_config, context_tokens, load_model, require_frameworks, with_adapter
from training.errors import TrainingError
from training.records import Scale
from training.sft import end_of_turn

if TYPE_CHECKING:
    from torch import Tensor

RANK = 16  # of a new adapter: vLLM allows it unless it is told otherwise
_START = "start"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterUpdate:
    """An update of the adapter of a run.

    Attributes:
        model: a folder of a model with a chat template, or its name on the hub.
        newest: the adapter to train on. None: a new one.
        start: the adapter that the run began with. None: it began with the model itself.
        records: lines of the run's training records so far.
        after: the batch are the proposals behind this number.
        bounded: whether each objective has bounds.
        output: new folder for the adapter and the card.
        settings: of the update.
    """

    model: str
    newest: Path | None
    start: Path | None
    records: Sequence[str]
    after: int
    bounded: Sequence[bool]
    output: Path
    settings: UpdateSettings


def update_adapter(asked: AdapterUpdate, report: Report = lambda _: None) -> Path:
    """Make an update. Returns the folder that a server loads.

    Args:
        asked: the update.
        report: gets every gradient step: step, steps, and the figures of the batch.

    Raises:
        TrainingError: the batch teaches nothing, the extra `trl` is not installed, weights diverge or memory runs out.
        ModelError: the model or an adapter cannot be loaded, or it is not a chat model.
    """
    require_frameworks()
    learner = _Learner(asked)
    scale = Scale.of(asked.bounded, np.array(list(rewards_of(asked.records))).reshape(-1, len(asked.bounded)))
    read = read_prompts(asked.records, learner.encode, scale.apply)
    fitting = [(number, prompt) for number, found in read if (prompt := learner.fitting(found)).replies]
    batch = [prompt for number, prompt in fitting if number > asked.after]
    archive = [prompt for _, prompt in fitting]
    try:
        _train(learner, batch, archive, asked.settings, report)
    except RuntimeError as error:  # torch's word for memory that is gone
        reason = str(error).strip().partition("\n")[0][:200]
        raise TrainingError(f"The update stopped ({reason}): give the trainer more memory.") from error
    adapter = save_adapter(learner.model, asked.output)
    write_card(asked.output, {"model": asked.model, "settings": asdict(asked.settings), **batch_figures(batch)})
    return adapter


class _Learner:
    """A model with the adapter that is trained, and with that of the start.

    Attributes:
        model: of PEFT.
        is_start: whether the adapter is as it was when the run began.
    """

    def __init__(self, asked: AdapterUpdate) -> None:
        self._torch = import_module("torch")
        self._torch.manual_seed(asked.settings.seed)
        model, self._tokenizer = load_model(asked.model, on_cpu="auto")
        self._context = context_tokens(model)
        self._has_start, self.is_start = asked.start is not None, asked.newest == asked.start
        if asked.newest is None:
            self.model: Any = import_module("peft").get_peft_model(model, adapter_config(RANK))
        else:
            self.model = with_adapter(model, asked.newest, trained=True)
        if asked.start is not None:
            self.model.load_adapter(str(asked.start), adapter_name=_START)
        self._device = "cuda" if self._torch.cuda.is_available() else "cpu"
        self.model.to(self._device).eval()

    @property
    def weights(self) -> "list[Tensor]":
        """Those that are trained."""
        return [weight for weight in self.model.parameters() if weight.requires_grad]

    def encode(
        self, messages: Sequence[Message], replies: Sequence[tuple[str, bool]]
    ) -> tuple[Sequence[int], Sequence[Sequence[int]]]:
        """The tokens of a prompt and of replies, as its chat template has them."""
        plain = [dict(message) for message in messages]
        head = self._tokenizer.apply_chat_template(plain, add_generation_prompt=True, tokenize=False)
        texts = [text + end_of_turn(self._tokenizer, plain, head, text) if whole else text for text, whole in replies]
        return self._tokens(head), [self._tokens(text) for text in texts]

    def fitting(self, prompt: AnsweredPrompt) -> AnsweredPrompt:
        """A prompt with those of its replies that fit into the context of the model."""
        room = self._context - len(prompt.ids)
        kept = [place for place, reply in enumerate(prompt.replies) if len(reply) <= room]
        return AnsweredPrompt(
            ids=prompt.ids,
            replies=[prompt.replies[place] for place in kept],
            rewards=[prompt.rewards[place] for place in kept],
            fitness=[prompt.fitness[place] for place in kept],
        )

    def losses(self, ids: Sequence[int], reply: Sequence[int]) -> "Tensor":
        """Negative log-probability of each token of a reply."""
        tokens, kept = self._torch.tensor([[*ids, *reply]], device=self._device), len(reply) + 1
        found = self.model(input_ids=tokens, logits_to_keep=kept, use_cache=False).logits[0, -kept:-1].float()
        losses: Tensor = self._torch.nn.functional.cross_entropy(found, tokens[0, -len(reply) :], reduction="none")
        return losses

    def first_losses(self, taught: Sequence[TaughtPrompt]) -> "list[list[Tensor]]":
        """The losses of all replies under the policy of the start."""
        with self._torch.no_grad(), self._as_start():
            return [[self.losses(one.ids, reply) for reply in one.replies] for one in taught]

    def old_losses(self, taught: Sequence[TaughtPrompt]) -> "list[list[Tensor]]":
        """The losses of all replies under the present weights."""
        with self._torch.no_grad():
            return [[self.losses(one.ids, reply) for reply in one.replies] for one in taught]

    @contextmanager
    def _as_start(self) -> Iterator[None]:
        if not self._has_start:
            with self.model.disable_adapter():
                yield
            return
        self.model.set_adapter(_START)
        try:
            yield
        finally:
            self.model.set_adapter(TRAINED)

    def _tokens(self, text: str) -> list[int]:
        found: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return found


def _train(
    learner: _Learner,
    batch: Sequence[AnsweredPrompt],
    archive: Sequence[AnsweredPrompt],
    settings: UpdateSettings,
    report: Report,
) -> None:
    """Train on a batch. Replies are read one at a time, so that they take the memory of one."""
    torch = import_module("torch")
    minibatches = minibatches_of(taught_prompts(batch, settings), settings.seed, len(archive))
    before = []
    for some in minibatches:
        old = learner.old_losses(some)
        before.append((old, old if learner.is_start else learner.first_losses(some)))
    best = best_replies(archive) if settings.replay else []
    weights, figures, steps = learner.weights, batch_figures(batch), PASSES * len(minibatches)
    optimizer = torch.optim.Adam(weights, lr=settings.rate)
    moved: list[float] = []
    for step in range(steps):
        place = step % len(minibatches)
        if not place:
            moved.clear()
        optimizer.zero_grad()
        moved.append(_back(learner, minibatches[place], *before[place], settings.divergence))
        for one in best:
            (settings.replay * one.weight * learner.losses(one.ids, one.reply).mean()).backward()
        torch.nn.utils.clip_grad_norm_(weights, MAX_NORM)
        optimizer.step()
        report({"step": step + 1, "steps": steps, **figures, "divergence": float(np.mean(moved))})
    if not all(bool(torch.isfinite(weight).all()) for weight in weights):
        raise TrainingError("the weights diverged: set a lower learning.rate")


def _back(
    learner: _Learner,
    minibatch: Sequence[TaughtPrompt],
    old: "Sequence[Sequence[Tensor]]",
    first: "Sequence[Sequence[Tensor]]",
    divergence: float,
) -> float:
    """Add the gradient of a minibatch, reply by reply. Returns the distance to the start in nats a token."""
    share = 1 / sum(len(reply) for one in minibatch for reply in one.replies)
    distances = []
    for one, olds, firsts in zip(minibatch, old, first, strict=True):
        for reply, worth, before, start in zip(one.replies, one.worth, olds, firsts, strict=True):
            losses = learner.losses(one.ids, reply)
            loss, distance = policy_loss(losses, before, start, float(worth), share, divergence)
            loss.backward()
            distances.append(distance)
    return sum(distances)

"""The reply forms that the settings of a policy leave open."""

from dataclasses import replace
from itertools import product

from evolve.answers.continuation import CONTINUE
from evolve.reply_form import ReplyForm
from service.policy_settings.settings import PolicySettings

ONE_ANSWER = "single"
MAX_SAMPLES = 64


def open_forms(settings: PolicySettings, *, continues: bool = False) -> tuple[ReplyForm, ...]:
    """The reply forms for a model behind a server, that of its settings first.

    With fewer answers per chain there are more chains, so a proposal brings about as many. A single answer needs no
    tags around it. A small model that cannot write tags still writes a program in a fence.

    Args:
        settings: of the policy.
        continues: whether its server can continue a prefilled reply.
    """
    edits = [settings.edits, *(("rewrite", "diff") if "edits" in settings.adaptable else ())]
    answers = [settings.answers, *((1,) if "answers" in settings.adaptable else ())]
    forms = [_form(settings, edit, number) for edit, number in product(edits, answers)]
    if continues and "edits" in settings.adaptable and 1 in answers:
        forms.append(replace(_form(settings, CONTINUE, 1), format=ONE_ANSWER))
    return tuple(dict.fromkeys(forms))


def _form(settings: PolicySettings, edits: str, answers: int) -> ReplyForm:
    samples = min(MAX_SAMPLES, settings.samples * max(1, settings.answers // answers)) if settings.temperature else 1
    alone = answers == 1 and settings.answers > 1
    return ReplyForm(format=ONE_ANSWER if alone else settings.format, edits=edits, answers=answers, samples=samples)

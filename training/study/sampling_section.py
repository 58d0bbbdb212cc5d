"""The report's section about plain sampling."""

from collections.abc import Callable

from training.study.bootstrap import mean
from training.study.findings import Findings, estimate, lead
from training.study.gather import AT_ONE, LABELS, Compared
from training.study.markdown import NOTHING, MethodComparison, cell, conclusions, paragraphs, signed, table
from training.study.plan import BASE, CHOSEN_ON, GRPO, HARD, KINDS, OTHERS, PLAIN, VPO, name_of

FIGURES = {
    "best": "best@k: expected mean of the objectives of the best of k answers",
    "solved": "solved@k (pass@k): probability that any of k answers is the exact optimum of that mean",
    "ew": "E_w[max]@k: expected best of k under random weights, over that of the maze's own optimum",
}
SPREAD = ("volume", "diversity")


def sampling_section(found: Findings) -> str:
    """The chapters on plain sampling."""
    return paragraphs(
        "## Plain sampling",
        "All methods answer the same mazes equally often. Every answer counts, even if it repeats another of its"
        " chain. A malformed answer counts as zeros. A cell is the mean over training seeds and mazes with its 95 %"
        " interval.",
        _temperatures(found),
        *(_kind(found, kind) for kind in KINDS),
        _misses(found),
        _waste(found),
    )


def _temperatures(found: Findings) -> str:
    shown = found.scope.temperatures
    parts = [
        "### Each method's own temperature",
        f"It is the temperature of {', '.join(f'{t:g}' for t in shown)} with the highest mean"
        f" best@{found.scope.answers} on {found.scope.validated} {CHOSEN_ON} mazes of the kind. It was chosen before"
        " any test maze was answered. It is in bold.",
    ]
    for kind in KINDS:
        rows = []
        for method, reached in found.temperatures.get(kind, {}).items():
            own = max(reached, key=lambda t: (reached[t], -abs(t - PLAIN)))
            values = [f"{reached[t]:.3f}" for t in shown]
            rows.append([name_of(method), *(f"**{v}**" if t == own else v for t, v in zip(shown, values, strict=True))])
        parts.append(table([f"{kind} mazes, T =", *(f"{t:g}" for t in shown)], rows))
    return paragraphs(*parts)


def _kind(found: Findings, kind: str) -> str:
    count = found.scope.mazes[kind]
    return paragraphs(
        f"### {kind.capitalize()} mazes ({count})",
        f"![best@k and E_w at temperature 1 and at own temperatures](images/study-{kind}.svg)",
        *(_condition(found, kind, label) for label in LABELS),
    )


def _condition(found: Findings, kind: str, label: str) -> str:
    compared = found.sampled[kind, label]
    if not compared:
        return paragraphs(f"#### {kind.capitalize()} mazes, {label}", "Not measured.")
    maximum = found.maximum
    return paragraphs(
        f"#### {kind.capitalize()} mazes, {label}",
        " ".join(
            conclusions(
                [
                    MethodComparison(
                        ahead=lead(compared, VPO, other, f"{figure}@{maximum}"),
                        one=name_of(VPO),
                        other=name_of(other),
                        figure=words,
                    )
                    for other in OTHERS
                    for figure, words in (("best", f"best@{maximum}"), ("ew", f"E_w[max]@{maximum}"))
                ]
            )
        ),
        *(paragraphs(f"{words}.", _by_k(found, compared, figure)) for figure, words in FIGURES.items()),
        "Hypervolume of all answers, and mean distance (L2) between the reward vectors of the first 32.",
        table(
            ["method", "temperature", "tokens an answer", "hypervolume", "diversity"],
            [
                [
                    name_of(method),
                    f"{one.temperature:g}",
                    f"{one.tokens:.1f}",
                    *(cell(estimate(one, s)) for s in SPREAD),
                ]
                for method, one in compared.items()
            ],
        ),
        "Differences, paired by training seed and maze, in bold if the unadjusted interval leaves zero out.",
        _leads(found, compared),
        *_whole_chains(found, compared),
        *_equal_tokens(found, compared),
    )


def _by_k(found: Findings, compared: Compared, figure: str, prefix: str = "") -> str:
    head = ["method", *(f"k = {k}" for k in found.scope.ks)]
    rows = [
        [name_of(method), *(cell(estimate(one, f"{prefix}{figure}@{k}")) for k in found.scope.ks)]
        for method, one in compared.items()
    ]
    return table(head, [row for row in rows if set(row[1:]) != {NOTHING}])


def _leads(found: Findings, compared: Compared) -> str:
    head = ["difference", *(f"k = {k}" for k in found.scope.ks)]
    rows = [
        [
            f"VPO − {name_of(other)}, {figure}@k",
            *(signed(lead(compared, VPO, other, f"{figure}@{k}")) for k in found.scope.ks),
        ]
        for other in OTHERS
        for figure in FIGURES
    ]
    spread = [
        [f"VPO − {name_of(other)}", *(signed(lead(compared, VPO, other, figure)) for figure in SPREAD)]
        for other in OTHERS
    ]
    return paragraphs(table(head, rows), table(["difference", "hypervolume", "diversity"], spread))


def _whole_chains(found: Findings, compared: Compared) -> list[str]:
    """Figures for whole chains, as a user gets them, instead of single answers from all chains."""
    shown = {figure: _by_k(found, compared, figure, "chain-") for figure in FIGURES}
    return ["The same with whole chains, so k answers are k / m chains."] + [
        paragraphs(f"{figure}@k of whole chains:", text) for figure, text in shown.items()
    ]


def _equal_tokens(found: Findings, compared: Compared) -> list[str]:
    cheapest = min(compared.values(), key=lambda one: one.tokens)
    return [
        f"At equal tokens, the column k means {cheapest.tokens:.1f} k tokens written. These are k answers of the method"
        " with the shortest answers. A method has k(B) = B / (its mean tokens per answer) answers within B tokens."
        " Figures between whole numbers of answers are interpolated by straight lines."
        f" {NOTHING} means that no answer fits.",
        *(
            paragraphs(f"{figure}@k at equal tokens:", _by_k(found, compared, figure, "tokens-"))
            for figure in ("best", "solved", "ew")
        ),
    ]


def _misses(found: Findings) -> str:
    if found.plain.hit is None:
        return ""
    hit = mean(found.plain.hit)
    return paragraphs(
        "### How far plain sampling of the warm start reaches",
        f"{found.plain.many} answers of the {name_of(BASE)} at temperature 1 hold the exact optimum on {hit} of the"
        f" {HARD}"
        f" mazes, and miss it on {1 - hit.value:.3f} [{1 - hit.high:.3f}, {1 - hit.low:.3f}].",
    )


def _waste(found: Findings) -> str:
    def share(of: Callable[[str], dict[str, float]], method: str) -> list[str]:
        return [f"{of(kind)[method]:.3f}" if method in of(kind) else NOTHING for kind in KINDS]

    methods = {**found.sampled[KINDS[0], AT_ONE], **found.sampled[KINDS[-1], AT_ONE]}
    rows = [
        [
            name_of(method),
            *share(lambda kind: dict(found.plain.missing[kind]), method),
            *share(lambda kind: dict(found.plain.repeats[kind]), method),
        ]
        for method in methods
    ]
    head = ["method", *(f"malformed, {kind}" for kind in KINDS), *(f"repeated, {kind}" for kind in KINDS)]
    return paragraphs(
        "### Malformed and repeated answers at temperature 1",
        "Shares of all answers. A repeated answer is the same walk as an earlier answer of its chain.",
        table(head, rows),
    )


def caveat_of_temperature(found: Findings) -> str:
    """How much of VPO's lead over GRPO is left at own temperatures."""
    said = []
    for kind in KINDS:
        for figure, words in _judged(found).items():
            leads = [lead(found.sampled[kind, label], VPO, GRPO, figure) for label in LABELS]
            texts = [one.signed for one in leads if one is not None]
            if len(texts) == len(LABELS):
                said.append(f"{kind} mazes, {words}: {texts[0]} at temperature 1, {texts[1]} at own temperatures.")
    return "\n".join(f"  - {one}" for one in said) or "  - Not measured."


def caveat_of_the_baseline(found: Findings, baseline: str) -> str:
    """VPO against a method that rewards the best of several answers too."""
    said = conclusions(
        [
            MethodComparison(
                ahead=lead(found.sampled[kind, label], VPO, baseline, figure),
                one=name_of(VPO),
                other=name_of(baseline),
                figure=f"{words} ({kind} mazes, {label})",
            )
            for kind in KINDS
            for label in LABELS
            for figure, words in _judged(found).items()
        ]
    )
    return "\n".join(f"  - {one}" for one in said)


def _judged(found: Findings) -> dict[str, str]:
    maximum = found.maximum
    return {f"best@{maximum}": f"best@{maximum}", f"ew@{maximum}": f"E_w[max]@{maximum}", "volume": "hypervolume"}

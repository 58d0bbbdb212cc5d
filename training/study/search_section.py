"""The report's section about searches."""

from itertools import permutations

import numpy as np

from training.study.campaign import best_temperature
from training.study.findings import Findings, estimate, gain, lead
from training.study.gather import AT_ONE, OWN
from training.study.intervals import mean
from training.study.markdown import NOTHING, MethodComparison, cell, conclusions, paragraphs, signed, table
from training.study.plan import (
    CHOSEN_ON,
    GRPO,
    HARD,
    ISLANDS,
    MAX_ANSWERS_FOR_EACH,
    OTHERS,
    PROPOSED,
    SEARCHED_ON,
    VPO,
    name_of,
)
from training.study.results import common

PLAIN_SAMPLES = "best_of_n"


def search_section(found: Findings) -> str:
    """The chapters on searches."""
    scope = found.scope
    return paragraphs(
        "## Searches",
        f"The searches run on {scope.questions} {HARD} mazes of the split `{SEARCHED_ON}`. They use the search of"
        " `evolve run` with its own prompts. The chat template of the policies shortens these to maze, parent and"
        f" scores. Scoring is in process, and a proposal has {PROPOSED} answers.",
        "The seed is a walk in bare letters, which the template does not show. So"
        f" `{PLAIN_SAMPLES}` is plain sampling, and `{ISLANDS}` shows a parent from its archives. A duplicate is never"
        f" evaluated and costs no evaluation. A search also ends after {MAX_ANSWERS_FOR_EACH} answers for each"
        " evaluation. The budgets are prefixes of the same run."
        f" Search seeds: {scope.search_seeds} for each training seed.{_beside(found)}",
        _settings(found),
        "![Share of hard mazes solved by budget](images/study-search.svg)",
        *(_condition(found, label) for label in found.search_labels),
        ""
        if OWN in found.search_labels
        else "### Searches at its own temperature\n\nIt is 1 for every method: as above.",
    )


def _beside(found: Findings) -> str:
    names = [name_of(method) for method in found.scope.beside if method in found.searched[ISLANDS, AT_ONE]]
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    return (
        f" {listed} search only with `{ISLANDS}`, at temperature 1 and with the settings of the others."
        if names
        else ""
    )


def _settings(found: Findings) -> str:
    rows = [
        [
            f"**{one.settings.title}**" if one.settings == found.settings else one.settings.title,
            f"{one.reached.solved:.3f}",
            f"{one.reached.best:.3f}",
        ]
        for one in found.tried
    ]
    scope = found.scope
    return paragraphs(
        "### Settings, chosen beforehand",
        "The study tried settings with the first model of each method at temperature 1, on"
        f" {scope.tuned} {CHOSEN_ON} mazes with {scope.tuned_evaluations} evaluations each. It took the settings that"
        " solve most in the mean over policies, and of equals those with the best mean. All policies use them. They"
        " are in bold.",
        table(["settings of `islands`", "solved", "best"], rows),
        _temperatures(found),
    )


def _temperatures(found: Findings) -> str:
    if not found.heated:
        return ""
    at = found.scope.search_temperatures
    rows = []
    for method, heated in found.heated.items():
        own = best_temperature(heated)
        cells = [f"{heated[t].solved:.3f}, {heated[t].best:.3f}" for t in at]
        rows.append(
            [name_of(method), *(f"**{text}**" if t == own else text for t, text in zip(at, cells, strict=True))]
        )
    return paragraphs(
        "The table chooses each method's own temperature in searches, with these settings, on the same mazes, by all"
        " models of the method. The temperature that solves most is in bold, and of equals that with the best mean."
        " The cells are the share solved and the best mean:",
        table(["", *(f"T = {t:g}" for t in at)], rows),
    )


def _condition(found: Findings, label: str) -> str:
    if not any(found.searched[strategy, label] for strategy in found.scope.strategies):
        return paragraphs(f"### Searches {label}", "Not measured.")
    return paragraphs(
        f"### Searches {label}",
        _sentences(found, label),
        "Share of mazes solved to the exact optimum, at equal evaluations.",
        _by_budget(found, label, "solved"),
        "Best mean of the objectives.",
        _by_budget(found, label, "best"),
        "Hypervolume of all evaluated walks.",
        _by_budget(found, label, "volume"),
        "Share solved at equal answers. The column is the number of answers written, including repeated and malformed"
        " answers.",
        _by_budget(found, label, "answers-solved"),
        "Share solved at equal tokens written. The column is a number of answers of the method and strategy with the"
        " shortest answers.",
        _by_budget(found, label, "tokens-solved"),
        f"Ratio of the mazes solved by `{ISLANDS}` and by `{PLAIN_SAMPLES}`, with the same policy and budget.",
        _gains(found, label),
        f"Lead of VPO with `{ISLANDS}`, share solved, in bold if the unadjusted interval leaves zero out.",
        _leads(found, label),
        _only_one(found, label),
    )


def _sentences(found: Findings, label: str) -> str:
    compared, last = found.searched[ISLANDS, label], found.last
    said = conclusions(
        [
            MethodComparison(
                ahead=lead(compared, VPO, other, f"solved@{last}"),
                one=name_of(VPO),
                other=name_of(other),
                figure=f"the share solved by `{ISLANDS}` within {last} evaluations",
            )
            for other in OTHERS
        ]
    )
    return " ".join([*said, parent_pays(found, label)])


def parent_pays(found: Findings, label: str) -> str:
    """Whether showing a parent helps VPO."""
    last = found.last
    islands, plain = (found.searched.get((strategy, label), {}).get(VPO) for strategy in (ISLANDS, PLAIN_SAMPLES))
    times = gain(islands, plain, f"solved@{last}")
    if times is None:
        return f"It is unknown whether a parent helps VPO {label}. A strategy solved or measured nothing."
    verdict = "helps" if times.low > 1 else "harms" if times.high < 1 else "makes no difference that can be told"
    tokens = gain(islands, plain, f"tokens-solved@{last}")
    return (
        f"Showing VPO a parent {verdict} {label}. Within {last} evaluations, `{ISLANDS}` solves {times} times as many"
        f" mazes as `{PLAIN_SAMPLES}`, and {cell(tokens)} times as many at equal tokens."
    )


def _budgets(found: Findings) -> list[str]:
    return [str(budget) for budget in found.scope.budgets]


def _by_budget(found: Findings, label: str, figure: str) -> str:
    rows = [
        [
            name_of(method),
            f"`{strategy}`",
            f"{one.temperature:g}",
            *(cell(estimate(one, f"{figure}@{budget}")) for budget in found.scope.budgets),
        ]
        for strategy in found.scope.strategies
        for method, one in found.searched[strategy, label].items()
    ]
    return table(["method", "strategy", "temperature", *_budgets(found)], rows)


def _gains(found: Findings, label: str) -> str:
    plain = found.searched.get((PLAIN_SAMPLES, label), {})
    rows = [
        [name_of(method), *(cell(gain(one, plain.get(method), f"solved@{budget}")) for budget in found.scope.budgets)]
        for method, one in found.searched[ISLANDS, label].items()
    ]
    return table(["method", *_budgets(found)], rows)


def _leads(found: Findings, label: str) -> str:
    compared = found.searched[ISLANDS, label]
    rows = [
        [
            f"VPO − {name_of(other)}",
            *(signed(lead(compared, VPO, other, f"solved@{budget}")) for budget in found.scope.budgets),
        ]
        for other in compared
        if other != VPO
    ]
    return table(["difference", *_budgets(found)], rows)


def _only_one(found: Findings, label: str) -> str:
    """Mazes that only one of two methods solves: seed by seed, and over all seeds."""
    compared, figure = found.searched[ISLANDS, label], f"solved@{found.last}"
    each, ever = [], []
    for row in compared:
        cells, others = [name_of(row)], [name_of(row)]
        for column in compared:
            if row == column:
                cells.append(NOTHING)
                others.append(NOTHING)
                continue
            seeds = common(compared[row], compared[column])
            mine, theirs = compared[row].tables[figure], compared[column].tables[figure]
            if seeds:
                apart = (compared[row].rows(figure, seeds) > 0) & (compared[column].rows(figure, seeds) == 0)
                cells.append(cell(mean(apart.astype(np.float64))))
            else:
                cells.append(NOTHING)
            others.append(str(int(((mine > 0).any(axis=0) & ~(theirs > 0).any(axis=0)).sum())))
        each.append(cells)
        ever.append(others)
    head = ["solved by, not by", *(name_of(method) for method in compared)]
    return paragraphs(
        f"Share of the mazes that the method of the row solves with `{ISLANDS}` within {found.last} evaluations, and"
        " that of the column does not, paired by training seed.",
        table(head, each),
        "The same over all seeds. The row's method solves the maze with at least one training seed, and the column's"
        f" with none (mazes of {found.scope.questions}).",
        table(head, ever),
        never_solved(found, label),
    )


def never_solved(found: Findings, label: str) -> str:
    """The published claim compared with our searches, with a sentence for each direction."""
    compared, figure = found.searched.get((ISLANDS, label), {}), f"solved@{found.last}"
    said = []
    for one, other in permutations((VPO, GRPO)):
        if one in compared and other in compared:
            ever = [np.asarray(compared[method].tables[figure].max(axis=0) > 0) for method in (one, other)]
            count = int((ever[0] & ~ever[1]).sum())
            said.append(
                f"{label.capitalize()}, {name_of(one)} solves {count} of {len(ever[0])} mazes that {name_of(other)}"
                " never solves."
            )
    return " ".join(said)


def caveat_of_the_parent(found: Findings) -> str:
    """Whether a parent helps, at both temperatures."""
    return "\n".join(f"  - {parent_pays(found, label)}" for label in found.search_labels)


def ended_early(found: Findings) -> str:
    """How many searches ran out of anything new, where any did."""
    said = [
        f"{name_of(method)}, `{strategy}`: {estimate(one, 'ended')}"
        for strategy in found.scope.strategies
        for method, one in found.searched[strategy, AT_ONE].items()
        if one.tables["ended"].any()
    ]
    return (
        "Share of searches at temperature 1 that ended before their last evaluation, because their policy wrote"
        " nothing new:" + ("\n\n" + "\n".join(f"* {one}" for one in said) if said else " none.")
    )

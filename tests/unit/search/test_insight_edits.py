"""What a version of insights keeps of a person's edit."""

import pytest

from evolve.change_events import InsightsWritten
from evolve.configuration import InsightsConfig
from evolve.search.insights import FACTS, PERSON, Insights


def version(change_id: str, text: str, source: str = FACTS) -> InsightsWritten:
    return InsightsWritten(change_id=change_id, by="", text=text, source=source, evaluations=0)


@pytest.mark.parametrize("meanwhile", [False, True])
def test_what_a_person_adds_is_kept_and_not_what_the_run_had_written(meanwhile: bool) -> None:
    insights = Insights(InsightsConfig(every=8))
    insights.write(version("one", "Facts from 8 candidates.\n- steps of 2 help"))
    if meanwhile:  # the run writes the next while the person edits the first
        insights.write(version("two", "Facts from 16 candidates.\n- steps of 3 help"))
    insights.write(version("mine", "- avoid recursion\nFacts from 8 candidates.\n- steps of 2 help", PERSON))
    assert insights.kept == "- avoid recursion"

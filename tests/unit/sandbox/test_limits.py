"""A limit that cannot be set is an error with its name, never passed over."""

import resource
import subprocess
import sys

from service.sandbox.inside import limits

# More descriptors than any kernel allows.
IMPOSSIBLE = (resource.RLIMIT_NOFILE, (1 << 40, 1 << 40))


# It limits the process that it is called in: never ours.
APPLY = """
from service.sandbox.inside import limits
try:
    limits.apply([{limit}], processes=1)
except OSError as error:
    print(error)
"""


def test_a_limit_that_cannot_be_set_is_named() -> None:
    words = [sys.executable, "-c", APPLY.format(limit=IMPOSSIBLE)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"the limit RLIMIT_NOFILE cannot be set to {1 << 40}: ")


def test_limits_that_a_system_does_not_have_are_found() -> None:
    possible = (resource.RLIMIT_CORE, resource.getrlimit(resource.RLIMIT_CORE))
    assert limits.unavailable([possible, IMPOSSIBLE]) == [resource.RLIMIT_NOFILE]
    assert limits.name(resource.RLIMIT_NOFILE) == "RLIMIT_NOFILE"


def test_processor_time_is_limited_in_whole_seconds_with_a_second_to_end_in() -> None:
    source = (
        "import resource\n"
        "from service.sandbox.inside import limits\n"
        "limits.limit_processor_time(29.5)\n"
        "print(*resource.getrlimit(resource.RLIMIT_CPU))\n"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["30", "31"]

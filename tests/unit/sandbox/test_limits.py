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


def test_the_limit_on_processor_time_is_exchanged() -> None:
    table = [(resource.RLIMIT_CORE, (0, 0)), (resource.RLIMIT_CPU, (1, 2))]
    assert limits.with_cpu_seconds(table, 29.5) == [(resource.RLIMIT_CORE, (0, 0)), (resource.RLIMIT_CPU, (30, 31))]

"""A lease's owner is gone when it is a process of this host that has ended, and only then."""

import socket
import subprocess
import sys

from service.runner.owner import is_gone, this_process


def test_this_process_is_there() -> None:
    assert not is_gone(this_process())


def test_a_process_that_ended_is_gone() -> None:
    script = "from service.runner.owner import this_process; print(this_process())"
    owner = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()
    assert is_gone(owner)


def test_another_process_with_the_same_pid_is_another() -> None:
    host, boot, pid, began = this_process().split(":")
    assert is_gone(f"{host}:{boot}:{pid}:{int(began) - 1}")
    assert is_gone(f"{host}:another-boot:{pid}:{began}")


def test_nothing_is_known_of_another_host_or_a_name() -> None:
    assert not is_gone(this_process().replace(socket.gethostname(), "elsewhere", 1))
    assert not is_gone("runner-1")

"""Clocks of processes that are wrong, and that can be set while they run."""

import os
import shutil
import struct
import subprocess
from pathlib import Path

_OFFSET = "EVOLVE_FAULT_CLOCK"
_SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *offset;

__attribute__((constructor)) static void find_offset(void) {
  const char *path = getenv("EVOLVE_FAULT_CLOCK");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *found = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (found != MAP_FAILED) offset = found;
}

int clock_gettime(clockid_t id, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int code = real(id, now);
  if (!code && offset && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) now->tv_sec += *offset;
  return code;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec found;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &found)) return -1;
  now->tv_sec = found.tv_sec;
  now->tv_usec = found.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *told) {
  struct timespec found;
  clock_gettime(CLOCK_REALTIME, &found);
  if (told) *told = found.tv_sec;
  return found.tv_sec;
}
"""


class Clock:
    """The clock of one process, which reads how wrong it is from a file whenever it is asked.

    Attributes:
        environment: what the process is started with.
    """

    def __init__(self, library: Path, path: Path) -> None:
        self._path = path
        self.set(0)
        self.environment = {"LD_PRELOAD": str(library), _OFFSET: str(path)}

    def set(self, seconds: int) -> None:
        """Have it go ahead of the machine's by some seconds, or behind, from now on."""
        with open(os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o644), "wb") as file:  # in place: it is mapped
            file.write(struct.pack("q", seconds))


def compiled(folder: Path) -> Path | None:
    """A library that makes the clocks of a process wrong; None where there is no C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    source, library = folder / "clock.c", folder / "clock.so"
    source.write_text(_SOURCE)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
    return library

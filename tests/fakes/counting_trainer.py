"""A trainer as a process, which counts: `python -m tests.fakes.counting_trainer DATABASE FOLDER SECONDS [BACKEND]`."""

import sys
from pathlib import Path

from pydantic import SecretStr

from service.bootstrap.storage import open_storage
from service.bootstrap.trainers import make_trainer
from service.config import DatabaseSettings, Settings
from tests.fakes.training_backend import CountingBackend


def main(url: str, folder: Path, seconds: float, name: str = "count") -> None:
    """Take jobs."""
    settings = Settings(database=DatabaseSettings(url=SecretStr(url)))
    with open_storage(settings) as storage:
        make_trainer(settings, storage, folder=folder, backends={name: CountingBackend(seconds=seconds)}).run()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), *sys.argv[4:5])

"""The tables of the schema: all of them, whatever else a process has imported.

A mapped class registers its table when its module is imported. So `Base.metadata` alone holds only the tables whose
modules the process happens to have loaded. Backup, restore and the migrations take their tables from here.
"""

from types import ModuleType

from sqlalchemy import MetaData, Table

from service.db import account_models, models, policy_models
from service.db.columns import Base

MODEL_MODULES: tuple[ModuleType, ...] = (models, account_models, policy_models)


def metadata() -> MetaData:
    """The metadata of the whole schema."""
    return Base.metadata


def all_tables() -> list[Table]:
    """Every table, those that are referred to before those that refer to them."""
    return list(metadata().sorted_tables)

"""Databases of whole installations are of this version from the start."""

import pytest


@pytest.fixture(scope="session")
def postgres_template(postgres_schema: str) -> str:
    return postgres_schema

"""What a policy's tokens cost, as a user says it."""

from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, PlainSerializer

from evolve.errors import ConfigurationError
from evolve.money import plain, read_amount, read_currency


def _amount(value: object) -> Decimal:
    try:
        return value if isinstance(value, Decimal) else read_amount(value)
    except ConfigurationError as error:
        raise ValueError(str(error)) from error


def _currency(text: str) -> str:
    try:
        return read_currency(text)
    except ConfigurationError as error:
        raise ValueError(str(error)) from error


Amount = Annotated[Decimal, BeforeValidator(_amount), PlainSerializer(plain)]


class PriceSettings(BaseModel):
    """What a million tokens cost, as decimals; those that a cache held cost as much as others where nothing is said."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: Amount
    cached: Amount | None = None
    output: Amount
    currency: Annotated[str, AfterValidator(_currency)] = "USD"

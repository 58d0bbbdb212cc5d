"""Settings of active runs on the wire."""

from pydantic import Field, JsonValue

from service.schemas.types import Reply, Request


class SettingsChange(Request):
    """New values of settings of an active run."""

    settings: dict[str, JsonValue] = Field(
        min_length=1,
        max_length=100,
        description="Values by key, dotted or nested. `policies.NAME` is the weight of a policy. 0: it is not asked",
        examples=[{"selection_options.exploration": 2.0, "policies.small": 0}],
    )


class RunSettings(Reply):
    """The settings of a run that may change while it is active."""

    run_id: str = Field(description="Id of the run")
    settings: dict[str, JsonValue] = Field(
        description="Values by dotted key. `policies.NAME` is the weight of a policy"
    )

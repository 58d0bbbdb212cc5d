"""Registered policies and their versions on the wire."""

from typing import Annotated, Any, Literal

from pydantic import Field

from service.schemas.problem_documents import ShownPolicy
from service.schemas.problems import MAX_FILES, Base64, Path
from service.schemas.types import NO_OTHERS, Count, Moment, Number, Page, Plain, Positive, Reply, Request, Text

MAX_PROBLEMS = 10_000
MAX_TEXT = 100_000

PolicyName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,47}$")]
State = Literal["candidate", "promoted", "archived"]
_Said = Annotated[Text, Field(max_length=MAX_TEXT)]
_Problem = Annotated[Text, Field(min_length=1, max_length=300)]


class PolicyCreate(Request):
    """A new policy of the registry, without versions."""

    name: PolicyName = Field(description="Its name, which runs give as `name` or `name@version`")
    description: _Said = Field(default="", description="Its purpose")
    shared: bool = Field(default=False, description="Whether all tenants may use it: of the operator's tenant alone")


class RegisteredPolicy(Reply):
    """A policy of the registry."""

    name: str = Field(description="Name of the policy")
    description: str = Field(description="Its purpose")
    shared: bool = Field(description="Whether all tenants may use it")
    own: bool = Field(description="Whether it is the tenant's own, rather than one that the operator shares")
    promoted: Count | None = Field(description="The version that the name stands for. Null: none yet")
    versions: Count = Field(description="Number of its versions")
    created_by: str = Field(description="Name of the key with which it was created")
    created_at: Moment = Field(description="When it was created")


class RegisteredPolicyPage(Page):
    """Policies of the registry, by name."""

    items: list[RegisteredPolicy] = Field(description="Policies of the registry, by name")


class VersionCreate(Request):
    """A model's folder as the next version of a policy."""

    binary_files: dict[Path, Base64] = Field(
        min_length=1,
        max_length=MAX_FILES,
        description="Content of all files, base64, by path relative to the folder",
        json_schema_extra=NO_OTHERS,
    )
    base: Annotated[Text, Field(max_length=200)] = Field(
        default="", description="What it was trained from: `name@version`, or a model's name. Empty: from scratch"
    )
    training: Plain = Field(
        default={}, description="How it was trained: `method`, `seed`, `runs`, `problems` and anything else"
    )
    card: _Said = Field(default="", description="Text for people, in Markdown. Empty: the folder's `README.md`")
    served: Annotated[Text, Field(max_length=500)] = Field(
        default="",
        description="Address of the vLLM that loads the folder, a LoRA adapter, when the version is promoted. Empty:"
        " Evolve runs the folder, a model",
    )


class EvaluationCreate(Request):
    """An evaluation of a version, paired with another by held-out problem."""

    against: Count = Field(description="Number of the other version. 0: none of this policy")
    metric: Annotated[Text, Field(min_length=1, max_length=100)] = Field(
        description="What was measured, more being better"
    )
    problems: list[_Problem] = Field(
        min_length=1, max_length=MAX_PROBLEMS, description="Names of problems that it was never trained on"
    )
    values: list[Number] = Field(min_length=1, max_length=MAX_PROBLEMS, description="Its value on each problem")
    baseline: list[Number] = Field(min_length=1, max_length=MAX_PROBLEMS, description="The other's value on each")


class VersionEvaluation(Reply):
    """An evaluation of a version."""

    against: Count = Field(description="Number of the other version. 0: none of this policy")
    metric: str = Field(description="What was measured, more being better")
    problems: list[str] = Field(description="Names of the held-out problems")
    values: list[float] = Field(description="Its value on each problem")
    baseline: list[float] = Field(description="The other's value on each")
    mean: float = Field(description="Mean of its values")
    baseline_mean: float = Field(description="Mean of the other's values")
    difference: float = Field(description="Mean of the paired differences")
    low: float = Field(description="Low end of the 95 % interval of the difference")
    high: float = Field(description="High end of that interval")
    at: Moment = Field(description="When it was recorded")


class VersionPromote(Request):
    """A promotion."""

    force: Annotated[Text, Field(max_length=1000)] = Field(
        default="",
        description="Reason to promote it against the gate, with the scope `operate`. Empty: the gate decides",
    )


class VersionPromotion(Reply):
    """Why a version was promoted."""

    by: str = Field(description="Name of the key with which it was promoted")
    before: Count | None = Field(description="The version that was promoted before. Null: none")
    forced: bool = Field(description="Whether the gate had refused it")
    reason: str = Field(default="", description="The operator's reason. Empty: the gate let it pass")
    refusal: str = Field(default="", description="Reason of the gate. Empty: the gate let it pass")


class PolicyVersion(Reply):
    """A version of a policy."""

    policy: str = Field(description="Name of the policy")
    version: Positive = Field(description="Number of the version, from 1")
    name: str = Field(description="`name@version`, which runs and statistics call it")
    state: State = Field(description="`promoted`: the policy's name stands for it. `archived`: new runs cannot have it")
    base: str = Field(description="What it was trained from. Empty: from scratch")
    bundle_hash: str = Field(description="SHA-256 of its folder")
    settings: ShownPolicy = Field(description="Keys of a policy file that runs ask it with")
    training: dict[str, Any] = Field(description="How it was trained")
    card: str = Field(description="Text for people, in Markdown")
    evaluations: list[VersionEvaluation] = Field(description="Evaluations, oldest first")
    promotion: VersionPromotion | None = Field(description="Why it was promoted. Null: it never was")
    created_by: str = Field(description="Name of the key or the training job that stored it")
    created_at: Moment = Field(description="When it was stored")
    promoted_at: Moment | None = Field(description="When it was last promoted. Null: never")
    archived_at: Moment | None = Field(description="When it was archived. Null: never")


class PolicyVersionPage(Page):
    """Versions of a policy, newest first."""

    items: list[PolicyVersion] = Field(description="Versions of the policy, newest first")

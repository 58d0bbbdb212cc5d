"""What holds for all policies of a kind: which keys act, what it costs, what it reads."""

from dataclasses import dataclass
from functools import cache

from evolve.extensions import ExtensionKind, Extensions, built_in_names, is_known, known_names

SAMPLED = ("name", "kind", "role", "model", "format", "answers", "samples", "temperature", "top_p", "max_tokens",
            "concurrency", "weight")  # fmt: skip

# Kinds whose programs no model writes. Each is a policy that `--policy` names by its kind.
WITHOUT_MODEL = ("syntax", "tuner")
# What acts for a coding agent alone.
AGENT_KEYS = ("command", "environment", "read", "path", "allow_hosts", "max_session_tokens", "max_session_cost")


@dataclass(frozen=True, slots=True, kw_only=True)
class KindTraits:
    """What holds for all policies of a kind.

    Attributes:
        spoken: a policy of the kind, as a sentence names it.
        keys: those of a policy file that act; None: all.
        without: those of them that do not act all the same.
        author_only: whether it writes programs, and has no other role.
        free: whether it costs nothing.
        reads_advice: whether it reads what a critic or an advisor wrote.
        reached: whether it may be reached over the network, with a key.
        edits_files: whether it edits the files of a program in a folder, and writes no answers.
    """

    spoken: str
    keys: tuple[str, ...] | None = None
    without: frozenset[str] = frozenset()
    author_only: bool = False
    free: bool = False
    reads_advice: bool = True
    reached: bool = True
    edits_files: bool = False


# One that a user brings.
EXTENSION = KindTraits(
    spoken="a policy of a kind of your own",
    keys=(
        *SAMPLED, "base_url", "api_key_env", "api_key_file", "params", "context_tokens", "timeout_seconds", "price",
    ),
    author_only=True,
)  # fmt: skip


def traits_of(kind: str) -> KindTraits:
    """What holds for a kind; nothing of an extension is imported."""
    return _built_in(kind) if kind in built_in_names(ExtensionKind.POLICY) else EXTENSION


def check_kind(kind: str) -> str:
    """A kind that a policy may have.

    Raises:
        ValueError: there is none of the name.
    """
    if is_known(ExtensionKind.POLICY, kind):
        return kind
    known = ", ".join(known_names(ExtensionKind.POLICY))
    raise ValueError(f"{kind[:80]!r} is not known: name one of {known}, or one of your own as module:Class")


@cache
def _built_in(kind: str) -> KindTraits:
    found: KindTraits = Extensions().resolve(ExtensionKind.POLICY, kind)[1].traits
    return found

"""The OpenAI-compatible providers that a policy may name: their addresses and the usual variables of their keys."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider of models.

    Attributes:
        base_url: address of its API.
        key_env: environment variable that usually holds its key; empty: it needs none.
    """

    base_url: str
    key_env: str = ""


PROVIDERS: Mapping[str, Provider] = MappingProxyType(
    {
        "openai": Provider(base_url="https://api.openai.com/v1", key_env="OPENAI_API_KEY"),
        "openrouter": Provider(base_url="https://openrouter.ai/api/v1", key_env="OPENROUTER_API_KEY"),
        "groq": Provider(base_url="https://api.groq.com/openai/v1", key_env="GROQ_API_KEY"),
        "deepseek": Provider(base_url="https://api.deepseek.com/v1", key_env="DEEPSEEK_API_KEY"),
        "together": Provider(base_url="https://api.together.xyz/v1", key_env="TOGETHER_API_KEY"),
        "xai": Provider(base_url="https://api.x.ai/v1", key_env="XAI_API_KEY"),
        "mistral": Provider(base_url="https://api.mistral.ai/v1", key_env="MISTRAL_API_KEY"),
        # The endpoints that speak the protocol of OpenAI beside the providers' own.
        "anthropic": Provider(base_url="https://api.anthropic.com/v1", key_env="ANTHROPIC_API_KEY"),
        "gemini": Provider(
            base_url="https://generativelanguage.googleapis.com/v1beta/openai", key_env="GEMINI_API_KEY"
        ),
        "ollama": Provider(base_url="http://localhost:11434/v1"),
        "llamacpp": Provider(base_url="http://localhost:8080/v1"),
        "sglang": Provider(base_url="http://localhost:30000/v1"),
        "vllm": Provider(base_url="http://localhost:8000/v1"),
    }
)


def split_provider(source: str) -> tuple[str, str] | None:
    """Split `PROVIDER:MODEL`; None where the text does not begin with a provider."""
    provider, colon, model = source.partition(":")
    if not colon or provider not in PROVIDERS or model.startswith("//"):
        return None
    return provider, model

"""Continuing a reply: what a request says to have a server go on from the beginning of one."""

from collections.abc import Mapping
from typing import Any

# Servers known to do so, by what they call themselves in their list of models. Others would begin a reply of their own.
CONTINUING = frozenset({"vllm"})


def continuing(beginning: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a request whose last message is the beginning of the reply; none where there is no beginning.

    The server stops behind the fence that closes the program, as words behind it are of no use.

    Args:
        beginning: of the reply, from the line that opens a fenced block on.
        parameters: of the policy; their `stop` holds as well.
    """
    if not beginning:
        return {}
    opening = beginning.partition("\n")[0]
    run = opening[: len(opening) - len(opening.lstrip("`"))]
    stop = parameters.get("stop", [])
    return {
        "add_generation_prompt": False,
        "continue_final_message": True,
        "include_stop_str_in_output": True,
        "stop": [*([stop] if isinstance(stop, str) else stop), f"\n{run}"],
    }

"""The options that several commands of training share."""

from pathlib import Path
from typing import Annotated

import typer

ChatModel = Annotated[
    str, typer.Option("--model", metavar="MODEL", help="Folder of a chat model, or its name on the hub.")
]
SubsetSize = Annotated[int | None, typer.Option("--k", min=1, metavar="K", help="Size of the sets whose best counts.")]
Updates = Annotated[int | None, typer.Option("--steps", min=1, metavar="N", help="Number of updates.")]
Prompts = Annotated[int | None, typer.Option("--prompts", min=1, metavar="N", help="Prompts per update.")]
Group = Annotated[int | None, typer.Option("--group", min=2, metavar="N", help="Completions per prompt.")]
Rate = Annotated[float | None, typer.Option("--rate", metavar="X", help="Learning rate.")]
Rank = Annotated[
    int | None, typer.Option("--rank", min=0, metavar="N", help="Rank of the adapter (0: train all weights).")
]
MaxTokens = Annotated[
    int | None, typer.Option("--max-tokens", min=1, metavar="N", help="Maximum tokens of a completion.")
]
Temperature = Annotated[float | None, typer.Option("--temperature", metavar="X", help="Sampling temperature.")]
Divergence = Annotated[float | None, typer.Option("--divergence", metavar="X", help="Weight of the KL penalty.")]
Alpha = Annotated[float, typer.Option("--alpha", metavar="X", help="Concentration of the objectives' weights.")]
Seed = Annotated[int, typer.Option("--seed", min=0, metavar="S", help="Seed of every random draw.")]
Threads = Annotated[int, typer.Option("--threads", min=0, metavar="N", help="Number of processor threads (0: all).")]
SaveEvery = Annotated[int, typer.Option("--save-every", min=1, metavar="N", help="Steps between two checkpoints.")]
TrainerSaveEvery = Annotated[
    int | None,
    typer.Option(
        "--save-every", min=1, metavar="N", help="Steps between two checkpoints.", show_default="50 of maze, 20 of trl"
    ),
]
ModelFolder = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        metavar="FOLDER",
        readable=False,
        help="Folder for the model. Interrupted training continues there.",
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue from the last checkpoint in FOLDER.")]
Start = Annotated[
    Path | None, typer.Option("--start", metavar="FOLDER", readable=False, help="Adapter of the model to train on.")
]
Trackers = Annotated[str, typer.Option("--trackers", metavar="LIST", help="Trackers: tensorboard, mlflow, wandb, ...")]
Vllm = Annotated[
    str, typer.Option("--vllm", metavar="PLACE", help="vLLM that writes completions: colocate, or a server of TRL's.")
]
TestEvery = Annotated[
    int | None,
    typer.Option("--test-every", min=0, metavar="N", help="Updates between tests on held-out prompts (0: none)."),
]
HeldOut = Annotated[int | None, typer.Option("--held-out", min=1, metavar="N", help="Prompts to test on.")]
KeepGoing = Annotated[bool, typer.Option("--keep-going", help="Continue even if all answers get equal rewards.")]
Slots = Annotated[
    int, typer.Option("--slots", min=0, metavar="N", help="Maximum number of concurrent evaluations (0: one per core).")
]
RequireIsolation = Annotated[
    str | None,
    typer.Option("--require-isolation", metavar="LEVEL", help="Minimum isolation: weak, medium or strong."),
]
MaxSeconds = Annotated[
    float | None, typer.Option("--max-seconds", metavar="X", help="End training after this many seconds.")
]
RecordFiles = Annotated[
    list[Path],
    typer.Option(
        "--records",
        metavar="FILE",
        readable=False,
        help="File written by evolve export --training. May be repeated.",
    ),
]
MazeMethod = Annotated[
    str, typer.Option(metavar="NAME", help="vpo, grpo, vector_max_at_k, ..., or base for the warm start alone.")
]

"""The commands that train policies."""

from pathlib import Path
from typing import Annotated

import typer

from service.cli.options import HELP, Db, Json, Params, named_folder, terminal_of
from service.cli.training_options import (
    Alpha,
    ChatModel,
    Divergence,
    Group,
    HeldOut,
    KeepGoing,
    MaxSeconds,
    MaxTokens,
    MazeMethod,
    ModelFolder,
    Prompts,
    Rank,
    Rate,
    RecordFiles,
    RequireIsolation,
    Resume,
    SaveEvery,
    Seed,
    Slots,
    Start,
    SubsetSize,
    Temperature,
    TestEvery,
    Threads,
    Trackers,
    Updates,
    Vllm,
)

train_app = typer.Typer(help="Train policies.", context_settings=HELP, no_args_is_help=True)


@train_app.command(epilog="Example: evolve train maze --method vpo -o trained/vpo", rich_help_panel="Training")
def maze(
    ctx: typer.Context,
    output: ModelFolder,
    *,
    method: MazeMethod = "vpo_marginal",
    base: Annotated[
        Path | None, typer.Option(metavar="MODEL", readable=False, help="Start from this model folder.")
    ] = None,
    seed: Seed = 0,
    warm_steps: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Updates of the warm start. With --base, it is continued.")
    ] = None,
    chain_length: Annotated[
        int | None, typer.Option(min=1, max=8, metavar="M", help="Answers of a chain, which the warm start teaches.")
    ] = None,
    steps: Annotated[int | None, typer.Option(min=2, metavar="N", help="Steps of reinforcement learning.")] = None,
    k: Annotated[
        int | None, typer.Option(min=1, metavar="K", help="Size of the sets whose best counts, of max_at_k.")
    ] = None,
    alpha: Annotated[float, typer.Option(metavar="X", help="Concentration of the objectives' weights.")] = 1.0,
    kinds: Annotated[str, typer.Option(metavar="LIST", help="Kinds of mazes: small, hard, nine.")] = "small,hard",
    validated: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of validation mazes for the model card.")
    ] = 100,
    mazes: Annotated[
        Path | None,
        typer.Option(metavar="FILE", readable=False, help="Mazes to reinforce on: JSON lines with the key maze."),
    ] = None,
    save_every: SaveEvery = 50,
    device: Annotated[str, typer.Option(metavar="NAME", help="cpu, cuda or auto (cuda if available).")] = "auto",
    threads: Threads = 0,
    json: Json = False,
) -> None:
    """Train a policy that walks through mazes, from scratch, in minutes on two processor cores."""
    from service.cli.train import TrainOptions, train_maze

    options = TrainOptions(
        output=output,
        method=method,
        base=base,
        seed=seed,
        warm_steps=warm_steps,
        chain_length=chain_length,
        steps=steps,
        k=k,
        alpha=alpha,
        kinds=kinds,
        validated=validated,
        device=device,
        threads=threads,
        mazes=mazes,
        save_every=save_every,
    )
    train_maze(terminal_of(ctx, json), options)


@train_app.command(
    epilog="Example: evolve train lora my_problem --model MODEL --records run.jsonl -o trained/first",
    rich_help_panel="Training",
)
def lora(
    ctx: typer.Context,
    problem: Annotated[
        Path, typer.Argument(metavar="PROBLEM", parser=named_folder, help="Folder of the records' problem.")
    ],
    *,
    model: ChatModel,
    records: RecordFiles,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", readable=False, help="New folder for the adapter.")
    ],
    method: Annotated[str, typer.Option(metavar="NAME", help="Training method, such as vpo or vpo_marginal.")] = "vpo",
    k: SubsetSize = None,
    steps: Updates = None,
    prompts: Prompts = None,
    group: Group = None,
    rate: Rate = None,
    rank: Rank = None,
    max_tokens: MaxTokens = None,
    temperature: Temperature = None,
    divergence: Divergence = None,
    test_every: TestEvery = None,
    held_out: HeldOut = None,
    alpha: Alpha = 1.0,
    seed: Seed = 0,
    start: Start = None,
    trackers: Trackers = "",
    vllm: Vllm = "",
    resume: Resume = False,
    keep_going: KeepGoing = False,
    slots: Slots = 0,
    require_isolation: RequireIsolation = None,
    json: Json = False,
) -> None:
    """Train an adapter for your model, with the prompts of your runs and the evaluator of their problem."""
    from service.cli.lora import LoraOptions, train_on_records

    options = LoraOptions(
        problem=problem,
        output=output,
        model=model,
        records=tuple(records),
        method=method,
        seed=seed,
        alpha=alpha,
        resume=resume,
        keep_going=keep_going,
        slots=slots,
        require_isolation=require_isolation,
        start=start,
        vllm=vllm,
        trackers=trackers,
        numbers={
            "k": k, "steps": steps, "prompts": prompts, "group": group, "rate": rate, "rank": rank,
            "max_tokens": max_tokens, "temperature": temperature, "divergence": divergence, "test_every": test_every,
            "held_out": held_out,
        },
    )  # fmt: skip
    train_on_records(terminal_of(ctx, json), options)


@train_app.command(epilog="Example: evolve train sft last --model MODEL -o trained/warm", rich_help_panel="Training")
def sft(
    ctx: typer.Context,
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="RUN|EXPORT...", help="Run ids, or files written by evolve export.")
    ] = None,
    *,
    model: ChatModel,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", readable=False, help="New folder for the adapter.")
    ],
    domain: Annotated[
        str | None, typer.Option(metavar="DOMAIN", help="Domain with examples, in place of runs: module:Class.")
    ] = None,
    problem: Annotated[
        Path | None, typer.Option(metavar="FOLDER", parser=named_folder, help="Folder of the exports' problem.")
    ] = None,
    answers: Annotated[
        str, typer.Option(metavar="LIST", help="Numbers of answers per completion, in equal parts.")
    ] = "1,2,4",
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="FORMAT", help="Reply format of the next run's policy, such as tags:answer."),
    ] = None,
    edits: Annotated[
        str | None, typer.Option(metavar="KIND", help="Edit format of the next run's policy: rewrite or diff.")
    ] = None,
    updates: Annotated[int | None, typer.Option(min=1, metavar="N", help="Number of updates.")] = None,
    batch: Annotated[int | None, typer.Option(min=1, metavar="N", help="Demonstrations per update.")] = None,
    rate: Rate = None,
    rank: Annotated[int | None, typer.Option(min=1, metavar="N", help="Rank of the adapter.")] = None,
    max_tokens: Annotated[
        int, typer.Option(min=1, metavar="N", help="Maximum tokens of a prompt with its reply.")
    ] = 2048,
    max_seconds: MaxSeconds = None,
    seed: Seed = 0,
    threads: Threads = 0,
    resume: Resume = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Teach your model the form of its answers, with programs that runs accepted, or with examples of a domain."""
    from service.cli.sft import SftOptions, teach_form

    options = SftOptions(
        runs=tuple(runs or ()),
        domain=domain,
        problem=problem,
        model=model,
        output=output,
        answers=answers,
        format=format_,
        edits=edits,
        max_tokens=max_tokens,
        seed=seed,
        threads=threads,
        resume=resume,
        db=db,
        numbers={"updates": updates, "batch": batch, "rate": rate, "rank": rank, "max_seconds": max_seconds},
    )
    teach_form(terminal_of(ctx, json, db), options)


@train_app.command(
    epilog="Example: evolve train task letters:Letters --model MODEL --method vpo -o trained/letters",
    rich_help_panel="Training",
)
def task(
    ctx: typer.Context,
    domain: Annotated[str, typer.Argument(metavar="DOMAIN", help="Name of a domain, or module:Class of your own.")],
    *,
    model: ChatModel,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", readable=False, help="New folder for the weights.")
    ],
    method: Annotated[
        str, typer.Option(metavar="NAME", help="Training method, such as vpo or vector_max_at_k.")
    ] = "vpo",
    k: SubsetSize = None,
    m: Annotated[int | None, typer.Option("--answers", min=1, metavar="M", help="Answers per completion.")] = None,
    steps: Updates = None,
    prompts: Prompts = None,
    group: Group = None,
    rate: Rate = None,
    rank: Rank = None,
    max_tokens: MaxTokens = None,
    temperature: Temperature = None,
    divergence: Divergence = None,
    test_every: TestEvery = None,
    alpha: Alpha = 1.0,
    seed: Seed = 0,
    start: Start = None,
    trackers: Trackers = "",
    vllm: Vllm = "",
    resume: Resume = False,
    json: Json = False,
) -> None:
    """Train your model on a domain, by any training method."""
    from service.cli.task import TaskOptions, train_on_task

    options = TaskOptions(
        domain=domain,
        model=model,
        output=output,
        method=method,
        seed=seed,
        alpha=alpha,
        resume=resume,
        start=start,
        vllm=vllm,
        trackers=trackers,
        numbers={
            "k": k, "m": m, "steps": steps, "prompts": prompts, "group": group, "rate": rate, "rank": rank,
            "max_tokens": max_tokens, "temperature": temperature, "divergence": divergence, "test_every": test_every,
        },
    )  # fmt: skip
    train_on_task(terminal_of(ctx, json), options)


@train_app.command(epilog="Example: evolve train data letters:Letters --answers 3 -o rows", rich_help_panel="Training")
def data(
    ctx: typer.Context,
    domain: Annotated[str, typer.Argument(metavar="DOMAIN", help="Name of a domain, or module:Class of your own.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", readable=False, help="Folder for the data set.")
    ],
    *,
    m: Annotated[int, typer.Option("--answers", min=1, metavar="M", help="Answers per completion.")] = 1,
    weights: Annotated[bool, typer.Option("--weights", help="Show weights of the objectives in each prompt.")] = False,
    alpha: Annotated[float, typer.Option(metavar="X", help="Concentration of these weights.")] = 1.0,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Maximum number of questions per split.")
    ] = None,
    train_file: Annotated[
        Path | None, typer.Option("--data", metavar="FILE", readable=False, help="Published data set for training.")
    ] = None,
    test_file: Annotated[
        Path | None, typer.Option("--test", metavar="FILE", readable=False, help="Published data set for testing.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Seed of the weights.")] = 0,
    json: Json = False,
) -> None:
    """Write the questions of a domain as a data set for TRL and veRL."""
    from service.cli.task import DataOptions, write_data

    named = {"train": train_file, "test": test_file}
    options = DataOptions(
        domain=domain,
        output=output,
        m=m,
        weights=weights,
        alpha=alpha,
        limit=limit,
        seed=seed,
        data={split: path for split, path in named.items() if path is not None},
    )
    write_data(terminal_of(ctx, json), options)


@train_app.command(
    epilog="Example: evolve train evaluate letters:Letters --adapter trained/letters/adapter -o results",
    rich_help_panel="Training",
)
def evaluate(
    ctx: typer.Context,
    domain: Annotated[str, typer.Argument(metavar="DOMAIN", help="Name of a domain, or module:Class of your own.")],
    *,
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="FOLDER",
            readable=False,
            help="Folder for answers and report. It continues there.",
        ),
    ],
    policy: Annotated[
        str | None,
        typer.Option(metavar="POLICY", help="Policy to measure: a server URL, a policy file or bundled:MODEL."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="M", help="Model to ask the policy for. Without a policy: folder of a model to run here."),
    ] = None,
    adapter: Annotated[
        Path | None, typer.Option(metavar="FOLDER", readable=False, help="Adapter to run here, on its model.")
    ] = None,
    param: Params = None,
    m: Annotated[int | None, typer.Option("--answers", min=1, metavar="M", help="Answers per completion.")] = None,
    chains: Annotated[int | None, typer.Option(min=1, metavar="N", help="Completions per question.")] = None,
    temperature: Annotated[float | None, typer.Option(min=0, metavar="X", help="Sampling temperature.")] = None,
    top_p: Annotated[float | None, typer.Option(metavar="X", help="Share of the likeliest tokens to sample.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, metavar="N", help="Maximum tokens of a completion.")] = None,
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Number of sampling seeds.")] = 1,
    data_file: Annotated[
        Path | None, typer.Option("--data", metavar="FILE", readable=False, help="Published data set of the questions.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Maximum number of questions.")] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Questions at once.", show_default="8 of a policy, 1 in this process"),
    ] = None,
    json: Json = False,
) -> None:
    """Measure a model on the test questions of a domain: best@k, pass@k, E_w@k, hypervolume and diversity."""
    from service.cli.evaluation import EvaluateOptions
    from service.cli.evaluation import evaluate as measure

    options = EvaluateOptions(
        domain=domain,
        policy=policy,
        model=model,
        adapter=adapter,
        params=tuple(param or ()),
        output=output,
        seeds=seeds,
        data=data_file,
        limit=limit,
        concurrency=concurrency,
        numbers={"m": m, "chains": chains, "temperature": temperature, "top_p": top_p, "max_tokens": max_tokens},
    )
    measure(terminal_of(ctx, json), options)


@train_app.command(epilog="Example: evolve train presets musique", rich_help_panel="Training")
def presets(
    ctx: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="TASK", help="maze, musique, eureqa, toolrl, livecodebench, or smaller.")
    ] = None,
    json: Json = False,
) -> None:
    """Show the published training settings by task, as TOML, and what to change on a smaller machine."""
    from service.cli.task import show_presets

    show_presets(terminal_of(ctx, json), name)

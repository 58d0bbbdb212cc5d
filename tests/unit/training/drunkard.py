"""Maze policies of a few weights that walk at random, whatever the maze, in the words of real ones."""

from pathlib import Path
from typing import Any

import numpy as np

from evolve.domains.maze import MOVES
from tests.fakes.tiny_llama import config, weights, write_model
from training.vocabulary import BOS, EOS, IDS, MAX_ANSWERS, PAD, UNKNOWN, WORDS, chat_template

_STEPS = [IDS[f"{move}{cell}"] for cell in ("a1", "b2") for move in MOVES]
_SHAPE: dict[str, Any] = {"tie_word_embeddings": False, "num_hidden_layers": 1, "max_position_embeddings": 512}
_ENDS = 2.0  # logits by which a walk is likelier to go on than to end


def write_drunkard(folder: Path, *, m: int, seed: int = 0) -> Path:
    """Write a model whose next word depends on the last one alone: open a route, step, step, ..., close it, end.

    Each word that can be the last is one of the numbers of a vector, and the head holds the logits of what follows it.
    """
    words = [word for word in WORDS if word not in {BOS, EOS, PAD, UNKNOWN}]
    opened, closed = IDS["<route_1>"], IDS["</route_1>"]
    asked = [IDS[f"m{count}"] for count in range(1, MAX_ANSWERS + 1)]
    place = {word: number for number, word in enumerate([*_STEPS, opened, closed, *asked], start=1)}
    size = len(place) + 1
    logits = np.full((len(WORDS), size), -40.0)
    likely = np.tile(np.random.default_rng(seed).normal(0, 0.5, len(MOVES)), 2)
    for word in _STEPS:
        logits[_STEPS, place[word]] = likely
        logits[closed, place[word]] = np.log(np.exp(likely).sum()) - _ENDS
    for word in asked:
        logits[opened, place[word]] = 0.0
    logits[_STEPS, place[opened]] = 0.0
    logits[[opened, IDS[EOS]], place[closed]] = 0.0, 0.0 if m == 1 else -1.5
    embedding = np.zeros((len(WORDS), size), dtype=np.float32)
    embedding[:, 0] = [word not in place for word in range(len(WORDS))]
    embedding[list(place), list(place.values())] = 1.0
    tensors = weights(config(words, hidden_size=size, **_SHAPE), scale=0.0)
    # The norm makes the vector of a word as long as the root of its numbers.
    tensors["lm_head.weight"] = (logits / np.sqrt(size)).astype(np.float32)
    tensors["model.embed_tokens.weight"] = embedding
    write_model(folder, words, tensors=tensors, template=chat_template(), hidden_size=size, **_SHAPE)
    (folder / "evolve.toml").write_text(f'format = "tags:route"\nanswers = {m}\n')
    return folder


def write_models(folder: Path) -> Path:
    """A folder as a study takes it: four methods, of which two have two seeds."""
    for place, (name, m) in enumerate({"base-s0": 2, "grpo-s0": 1, "grpo-s1": 1, "multi_rlvr_best-s0": 2}.items()):
        write_drunkard(folder / name, m=m, seed=place)
    for seed in range(2):
        write_drunkard(folder / f"vpo-s{seed}" / "vpo", m=2, seed=7 + seed)
    return folder

"""A chat model that writes random words in answer tags: some thousand weights, taught in seconds on a processor."""

from pathlib import Path
from typing import Any

import numpy as np

LETTERS = "abcdefghijklmnopqrstuvwxyz"
TAGS = [f"<{closing}answer{number}>" for number in ("", *(f"_{n}" for n in range(1, 5))) for closing in ("", "/")]
VOCABULARY = ["<pad>", "<eos>", "<unk>", "<user>", *TAGS, *LETTERS, *LETTERS.upper(), *"0123456789 .,:'\n"]
TEMPLATE = "{% for m in messages %}<user>{{ m['content'] }}{% endfor %}{% if add_generation_prompt %}<user>{% endif %}"


def make_spelling_model(
    folder: Path, m: int, steps: int = 250, prompt: str = "Write a word.", context: int = 512
) -> Path:
    """Write the model, taught to answer m times, each time with a random word of 2 to 8 letters."""
    import torch
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    words = Tokenizer(models.WordLevel({word: place for place, word in enumerate(VOCABULARY)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Split(Regex(r"<[^<>]*>|[\s\S]"), "isolated")
    words.decoder = decoders.Fuse()
    tokenizer: Any = PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>", chat_template=TEMPLATE
    )
    shape = LlamaConfig(
        vocab_size=len(VOCABULARY), hidden_size=48, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=4, max_position_embeddings=context, pad_token_id=0, eos_token_id=1, bos_token_id=None,
    )  # fmt: skip
    model = LlamaForCausalLM(shape)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    shown = tokenizer.apply_chat_template(
        [{"role": "user", "content": prompt}], add_generation_prompt=True, tokenize=False
    )
    asked = tokenizer(shown, add_special_tokens=False)["input_ids"]
    for _ in range(steps):
        replies = [tokenizer(_reply(rng, m), add_special_tokens=False)["input_ids"] for _ in range(16)]
        width = max(map(len, replies))
        ids = torch.tensor([[*asked, *reply, *[0] * (width - len(reply))] for reply in replies])
        labels = ids.clone()
        labels[:, : len(asked)] = -100
        labels[ids == 0] = -100
        loss = model(ids, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _reply(rng: np.random.Generator, m: int) -> str:
    words = ["".join(rng.choice(list(LETTERS), size=rng.integers(2, 9))) for _ in range(m)]
    numbered = [("" if m == 1 else f"_{number}", word) for number, word in enumerate(words, start=1)]
    return "".join(f"<answer{number}>{word}</answer{number}>" for number, word in numbered) + "<eos>"

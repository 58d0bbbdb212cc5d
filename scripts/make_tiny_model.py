"""Make a tiny chat model that writes chains, from nothing and without a network, for tests against a real server.

    .venv-vllm/bin/python scripts/make_tiny_model.py DIRECTORY [--steps N]

A Llama of 0.4 million parameters, a byte-level BPE tokenizer and a ChatML-like template, trained for a minute or two
on one core. Whatever it is asked, it answers with a chain of four programs, each a function `point` that returns two
numbers of its own choice: enough to see a search work through a real server, and nothing more. Needs torch,
transformers and tokenizers, which come with vLLM.
"""

import argparse
import json
import random
import sysconfig
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

ANSWERS = 4
CONTEXT = 4096
VOCABULARY = 1024
HIDDEN, LAYERS, HEADS, KV_HEADS = 128, 2, 4, 2
BATCH = 6
MAX_PROMPT = 600
PAD, END = "<|pad|>", "<|im_end|>"
SPECIALS = [PAD, "<|endoftext|>", "<|im_start|>", END]
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Make a tiny chat model that writes chains.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--steps", type=int, default=300)
    arguments = parser.parse_args()
    started = time.monotonic()
    import_module("transformers.utils.logging").disable_progress_bar()
    corpus = list(library_texts(2_000_000))
    tokenizer = make_tokenizer(corpus)
    model, loss = train(tokenizer, "".join(corpus), arguments.steps)
    tokenizer.save_pretrained(arguments.directory)
    model.save_pretrained(arguments.directory)
    parameters = sum(weight.numel() for weight in model.parameters())
    print(json.dumps({"parameters": parameters, "loss": round(loss, 3), "seconds": round(time.monotonic() - started)}))


def library_texts(characters: int) -> Iterator[str]:
    """Text that is on every machine: the interpreter's own standard library."""
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        text = path.read_text(encoding="utf-8", errors="ignore")
        characters -= len(text)
        yield text
        if characters < 0:
            return


def make_tokenizer(corpus: Sequence[str]) -> Any:
    tokenizers, transformers = import_module("tokenizers"), import_module("transformers")
    bytes_of = tokenizers.pre_tokenizers.ByteLevel
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token=None))
    # A digit a token: numbers are what the model is to vary.
    digits = tokenizers.pre_tokenizers.Digits(individual_digits=True)
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([digits, bytes_of(add_prefix_space=False)])
    bpe.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=SPECIALS, show_progress=False, initial_alphabet=bytes_of.alphabet()
    )
    bpe.train_from_iterator(corpus, trainer)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=["<|im_start|>"],
        model_max_length=CONTEXT,
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = TEMPLATE
    return fast


def make_model(tokenizer: Any) -> Any:
    transformers = import_module("transformers")
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN,
        intermediate_size=2 * HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        head_dim=HIDDEN // HEADS,  # one that attention on the processor knows: 32, 64, 80, ...
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = transformers.LlamaForCausalLM(config)
    model.generation_config = transformers.GenerationConfig(
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id, do_sample=True
    )
    return model


def train(tokenizer: Any, text: str, steps: int, seed: int = 0) -> tuple[Any, float]:
    torch: Any = import_module("torch")
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng = random.Random(seed)
    model = make_model(tokenizer)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4e-3, total_steps=steps, pct_start=0.1)
    loss = torch.zeros(())
    for _ in range(steps):
        inputs, targets = batch(torch, tokenizer, [conversation(tokenizer, text, rng) for _ in range(BATCH)])
        loss = model(input_ids=inputs, attention_mask=(inputs != tokenizer.pad_token_id).long(), labels=targets).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model, loss.item()


def conversation(tokenizer: Any, text: str, rng: random.Random) -> tuple[list[int], list[int]]:
    """Tokens of a request and of its reply. The request is any text of any length: the model learns not to mind."""
    length = int(16 * (4 * MAX_PROMPT / 16) ** rng.random())
    start = rng.randrange(len(text) - length)
    request = [{"role": "system", "content": "You improve programs."}] if rng.random() < 0.5 else []
    request.append({"role": "user", "content": text[start : start + length]})
    shown = tokenizer.apply_chat_template(request, tokenize=False, add_generation_prompt=True)
    asked = tokenizer(shown, add_special_tokens=False)["input_ids"]
    return asked, tokenizer(reply(rng) + END, add_special_tokens=False)["input_ids"]


def reply(rng: random.Random) -> str:
    programs = [f"def point():\n    return [{rng.random():.2f}, {rng.random():.2f}]" for _ in range(ANSWERS)]
    return "\n".join(f"<answer_{n}>\n{program}\n</answer_{n}>" for n, program in enumerate(programs, start=1))


def batch(torch: Any, tokenizer: Any, conversations: Sequence[tuple[list[int], list[int]]]) -> tuple[Any, Any]:
    """Inputs, and targets that leave the requests out (-100: no loss)."""
    longest = max(len(asked) + len(written) for asked, written in conversations)
    inputs, targets = [], []
    for asked, written in conversations:
        rest = longest - len(asked) - len(written)
        inputs.append(asked + written + [tokenizer.pad_token_id] * rest)
        targets.append([-100] * len(asked) + written + [-100] * rest)
    return torch.tensor(inputs), torch.tensor(targets)


if __name__ == "__main__":
    main()

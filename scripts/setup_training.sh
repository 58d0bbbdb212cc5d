#!/bin/sh
# Makes .venv-training: everything that developing needs, and torch for the processor with TRL, peft and veRL. About
# 2.3 GB on disk and two minutes; what is there already is kept. Usage: [PYTHON=...] scripts/setup_training.sh
set -eu

cd "$(dirname "$0")/.."
venv=.venv-training
pip="$venv/bin/python -m pip --disable-pip-version-check"
torch=$(sed -n 's/^torch==//p' requirements/torch.txt)
locks="requirements/build.txt requirements/base.txt requirements/dev.txt requirements/training.txt"
wanted=$(cat "$0" requirements/torch.txt requirements/verl.txt $locks | cksum)

install_torch() { # The plain name is a CUDA build on Linux, gigabytes that a machine without a GPU cannot use.
    $pip install -qq --no-deps "torch==$torch+cpu" 2>/dev/null && return
    [ "$(uname -s)" = Linux ] ||
        { $pip install -qq --no-deps "torch==$torch"; return; }
    echo "No CPU build of torch $torch is on the indexes that pip knows: name the CPU index of PyTorch in" \
        "PIP_EXTRA_INDEX_URL; the selector under 'Get started' on PyTorch's site shows its address." >&2
    exit 1
}

if [ "$(cat $venv/.made 2>/dev/null || true)" != "$wanted" ]; then
    python=$(scripts/check_machine.sh "${PYTHON:-}")
    echo "Installing torch $torch for the processor, TRL and veRL into $venv ..."
    "$python" -m venv --clear $venv
    install_torch
    # shellcheck disable=SC2086 # lists of words
    $pip install -qq --require-hashes $(printf -- '-r %s ' $locks)
    $pip install -qq --require-hashes --no-deps -r requirements/verl.txt
    $pip install -qq --no-deps --no-build-isolation --editable .
    echo "$wanted" >$venv/.made
fi

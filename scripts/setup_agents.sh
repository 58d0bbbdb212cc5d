#!/bin/sh
# Makes .venv-agents: a coding agent for tests only, on the packages of .venv. About 20 MB; what is there already is kept.
# Usage: scripts/setup_agents.sh
set -eu

cd "$(dirname "$0")/.."
venv=.venv-agents
# Without dependencies: .venv has LiteLLM, and the rest of them is for other ways to use the agent.
packages="mini-swe-agent==2.4.6 prompt_toolkit==3.0.53 tenacity==9.2.1 wcwidth==0.9.4"

if [ "$(cat $venv/.agents 2>/dev/null || true)" != "$packages" ]; then
    echo "Installing mini-swe-agent into $venv ..."
    .venv/bin/python -m venv --clear $venv
    # shellcheck disable=SC2086 # a list of words
    $venv/bin/python -m pip --disable-pip-version-check install -qq --no-deps $packages
    .venv/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" \
        >"$($venv/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/packages_of_tests.pth"
    echo "$packages" >$venv/.agents
fi

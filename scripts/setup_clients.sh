#!/bin/sh
# Makes .venv-clients and tests/clients/node_modules: generators of clients in Python and TypeScript, for tests only. About
# 150 MB; what is there already is kept. Usage: [PYTHON=...] scripts/setup_clients.sh
set -eu

cd "$(dirname "$0")/.."
venv=.venv-clients
command -v npm >/dev/null || { echo "npm is missing: install Node.js 20 or newer." >&2; exit 1; }

if ! cmp -s requirements/clients.txt $venv/.clients; then
    python=$(scripts/check_machine.sh "${PYTHON:-}")
    echo "Installing a generator of Python clients into $venv ..."
    "$python" -m venv --clear $venv
    $venv/bin/python -m pip --disable-pip-version-check install -qq --require-hashes -r requirements/clients.txt
    cp requirements/clients.txt $venv/.clients
fi

if ! cmp -s tests/clients/package-lock.json tests/clients/node_modules/.lock; then
    echo "Installing a generator of TypeScript clients into tests/clients/node_modules ..."
    npm ci --prefix tests/clients --silent --no-audit --no-fund
    cp tests/clients/package-lock.json tests/clients/node_modules/.lock
fi

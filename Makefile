# Every command sets up what it needs: a .venv with the versions of constraints.txt.
# `make demo` and `make test` are all a newcomer has to know.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGE := $(VENV)/.package
READY := $(VENV)/.ready
OLDEST := .venv-oldest
INSTALL := $(PYTHON) tools/install.py $(VENV) --constraint constraints.txt
# Bytecode is kept even where images switch that off, or every process would compile its modules anew.
export PYTHONDONTWRITEBYTECODE :=
# Two processes of tests use two cores; threads within them would only get in their way.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
PYTEST := $(ONE_THREAD) $(BIN)/python -m pytest -n 2

.PHONY: demo test routines test-all coverage test-oldest lint format bench docs docs-serve changelog dist clean help

help:            ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## +/\t/' | expand -t 14

# The package comes first: its routines can be compiled while the tools are installed.
$(PACKAGE): pyproject.toml constraints.txt tools/install.py
	$(INSTALL) --editable .
	touch $(PACKAGE)

$(READY): $(PACKAGE)
	$(INSTALL) --group dev --group docs
	touch $(READY)

demo: $(READY)   ## the trials of the paper on scikit-learn's digits; a table, and a report to look at
	$(BIN)/polytomy trials --datasets digits --repeats 3 --no-calibrated --output results

test:            ## everything that must hold before a change is taken
	# Without the routines, each process of tests would compile them.
	$(MAKE) --no-print-directory --jobs 2 routines lint
	$(PYTEST) -m "not slow and not data"

routines: $(PACKAGE) ## compile the routines
	$(BIN)/polytomy warm-up --jobs 2 --json > /dev/null

coverage: $(READY) ## the same tests, and how much of the code they run; tracing takes half as long again
	$(PYTEST) -m "not slow and not data" --cov --cov-report=term

test-all: lint   ## the long tests and those of the datasets too, on new examples
	HYPOTHESIS_PROFILE=nightly FIRST_COMBINATION=$$(date +%s) COMBINATIONS=3000 $(PYTEST) --cov --cov-report=term

# Numba's files of two versions have the same names, so this one keeps its own.
test-oldest: export NUMBA_CACHE_DIR := $(CURDIR)/$(OLDEST)/machine_code
test-oldest: $(OLDEST)/.ready ## the tests with the oldest versions of all dependencies, on Python 3.11
	$(OLDEST)/bin/polytomy warm-up --json > /dev/null
	$(ONE_THREAD) $(OLDEST)/bin/python -m pytest -n 2 -m "not slow and not data"

$(OLDEST)/.ready: pyproject.toml constraints.txt tools/oldest_versions.py tools/install.py
	mkdir -p $(OLDEST)
	$(PYTHON) tools/oldest_versions.py > $(OLDEST)/constraints.txt
	$(PYTHON) tools/install.py $(OLDEST) \
	  --constraint $(OLDEST)/constraints.txt --group test --group docs --editable .
	touch $@

lint: $(READY)   ## style, types and layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY) ## put the code into the house style
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench: $(READY)  ## measure speed, with the answers compared
	$(BIN)/python -m benchmarks

docs: $(READY)   ## the site, in docs/_build/html; warnings are errors
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -b html docs docs/_build/html

docs-serve: docs ## the site, at http://localhost:8000
	$(BIN)/python -m http.server --directory docs/_build/html 8000

changelog: $(READY) ## what is not released yet, as CHANGELOG.md will show it
	@$(BIN)/towncrier build --draft --version Unreleased --date "" 2>/dev/null

dist: $(READY)   ## the sdist and the wheel, checked, and tried in fresh environments
	$(INSTALL) --group release
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tools/check_dist.py dist

clean:           ## remove all that the commands made
	rm -rf $(VENV) $(OLDEST) build dist docs/_build docs/gallery docs/reference/generated .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis

# Two commands are sacred: `make run` and `make test`. Both need only Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
ARGS ?=

.PHONY: run test check bench docs clean

run: $(VENV)/.run
	$(BIN)/holdfast demo $(ARGS)

test: $(VENV)/.test
	@tools/system-parts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n auto --dist loadgroup $(ARGS)

bench: $(VENV)/.test
	@tools/system-parts
	$(BIN)/python -m benchmarks --check $(ARGS)

docs: $(VENV)/.docs
	$(BIN)/sphinx-build -q -W --keep-going -b doctest docs build/doctest
	$(BIN)/sphinx-build -q -W --keep-going -b html docs build/docs
	@echo "documentation: build/docs/index.html"

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("Holdfast needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) install -c constraints.txt -e '.[plots,server]'
	@touch $@

$(VENV)/.test: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) install -c constraints.txt -e '.[plots,test,bench,docs]'
	@touch $@ $(VENV)/.run $(VENV)/.docs

$(VENV)/.docs: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) install -c constraints.txt -e '.[plots,server,agents,docs]'
	@touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

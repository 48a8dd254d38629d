# Two commands are sacred: `make run` and `make test`. Both need only Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What is imported is compiled when it first is: most of what is installed never is.
INSTALL := $(BIN)/python -m pip --disable-pip-version-check --quiet install --no-compile -c constraints.txt
ARGS ?=
# One process more than cores: servers, browsers and databases that tests wait for leave a core idle otherwise.
PROCESSES = $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
TESTS = pytest -n $(PROCESSES) --dist loadgroup
# Some machines forbid Python to keep what it compiled; then every process that tests start would compile it all again.
export PYTHONDONTWRITEBYTECODE :=
# Tests fill the cores with processes, and ratios are steadier on one thread of linear algebra.
test coverage bench: export OPENBLAS_NUM_THREADS := 1

.PHONY: run test system-parts coverage bench docs packaging clean

run: $(VENV)/.run
	$(BIN)/holdfast demo $(ARGS)

# What is installed from two places is fetched side by side. The types are checked by tests/test_types.py.
test:
	@$(MAKE) --no-print-directory -j2 system-parts $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/$(TESTS) $(ARGS)

system-parts:
	@tools/system-parts

# Every line that tests run, in the processes that they start too. Ratios of time mean nothing while lines are counted.
coverage: $(VENV)/.test
	rm -rf build/coverage && mkdir -p build/coverage
	$(BIN)/coverage run -m $(TESTS) --deselect tests/test_bench_regression.py $(ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

bench: $(VENV)/.test system-parts
	$(BIN)/python -m benchmarks --check $(ARGS)

docs: $(VENV)/.test
	$(BIN)/python tools/docs build
	@echo "documentation: build/docs/index.html"

packaging: $(VENV)/.test
	$(BIN)/python tools/packaging-check $(ARGS)

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("Holdfast needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv --upgrade-deps $(VENV)

$(VENV)/.run: $(VENV)/bin/python pyproject.toml papers/pyproject.toml constraints.txt
	$(INSTALL) -e '.[plots,server]' -e papers
	@touch $@

$(VENV)/.test: $(VENV)/bin/python pyproject.toml papers/pyproject.toml constraints.txt
	$(INSTALL) -e '.[plots,test,bench,docs]' -e papers
	@touch $@ $(VENV)/.run

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

# Two commands do all the set-up, in a virtual environment of the project's own:
#   make demo    the whole journey on the bundled Game of Life
#   make test    the test suite
# PYTHON=python3.12 chooses another interpreter, VENV=dir another place.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null \
	&& { echo $$p; break; }; done)
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST_ARGS ?=

.PHONY: demo test check format clean

demo: $(VENV)/.installed
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && bin=$$(cd $(BIN) && pwd) && cd "$$dir" && \
	"$$bin/gpuadvise" examples life_naive --copy . && \
	cp life_naive.py original.py && \
	"$$bin/gpuadvise" --apply life_naive.py && \
	echo && echo "original:  $$( { time -p "$$bin/python" original.py >a.txt; } 2>&1 | grep real)" && \
	echo "rewritten: $$( { time -p "$$bin/python" life_naive.py >b.txt; } 2>&1 | grep real)" && \
	cmp a.txt b.txt && echo "same output"

# Tests often wait for the programs that they start: four share two cores well.
test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest --numprocesses 4 --dist worksteal $(PYTEST_ARGS)

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PYTHON=$(BIN)/python tools/typecheck.sh

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "gpuadvise needs Python 3.11, 3.12 or 3.13"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) .typecheck build dist *.egg-info

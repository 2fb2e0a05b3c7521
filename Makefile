# Two commands for everybody: `make demo` and `make test`. Each sets up what it needs in .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test check format bench clean

demo: $(READY)
	@$(BIN)/python -m examples.demo

# First those that compute, then those that measure: beside the others these would be too late to tell anything.
# `make test FAST=1` leaves out the slow ones, `make test ALL=1` nothing.
LEFT_OUT := $(if $(FAST), and not slow)$(if $(ALL),, and not thorough)
test: $(READY)
	$(BIN)/pytest -n 2 --dist loadfile -m "not measuring$(LEFT_OUT)"
	$(BIN)/pytest -n 2 --dist loadfile -m "measuring$(LEFT_OUT)"

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)
	bash bench/install.sh
	$(BIN)/python -m bench

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Faultkit needs Python 3.11 or newer; set PYTHON=…")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) build dist bench/out

# `make demo` and `make test` are the two commands to begin with. `make demo` sets up the core in .venv-demo, the others
# everything in .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO := .venv-demo
JOBS ?= $(shell getconf _NPROCESSORS_ONLN)

.PHONY: demo quick test failed measure soak fuzz smoke check format bench clean

demo: $(DEMO)/.ready
	@$(DEMO)/bin/python -m examples.demo

$(DEMO)/.ready: pyproject.toml
	@$(PYTHON) examples/demo_setup.py $(DEMO)

# Tests of what computes. `--pure` fails a test that opens a socket or starts a process.
QUICK := $(addprefix tests/,base faults plan report testing scenario/report agents/matchers agents/parse \
  agents/recovery code/rules code/slos proxy/http test_architecture.py)
IMPURE := $(addprefix tests/,base/http base/test_child_process.py base/test_process_group.py base/test_signals.py \
  report/test_html_in_chromium.py)
STARTS_PYTHON := tests/agents/parse/test_suite_file.py::test_reading_suites_imports_nothing_heavy
quick: $(READY)
	$(BIN)/pytest -n $(JOBS) --pure -m "not slow and not thorough" $(addprefix --ignore=,$(IMPURE)) \
	  --deselect $(STARTS_PYTHON) $(QUICK)

# Tests that measure a load, have short time limits, or wait minutes for other programs: a real model, a suite.
MEASURE := tests/measure $(addprefix tests/,code/advice/test_advisor_real.py agents/kinds/test_real_model.py \
  llm/test_real_model.py e2e/test_conformance.py)

# Each worker takes whole files, in the order of tests/conftest.py and not by the number of their tests.
SPREAD := -n $(JOBS) --dist loadfile --no-loadscope-reorder

# Everything else. `make test FAST=1` leaves out the slow tests, `make test ALL=1` leaves out nothing.
MARKS := $(if $(ALL),,not thorough$(if $(FAST), and not slow))
test: $(READY)
	$(BIN)/pytest $(SPREAD) -m "$(MARKS)" $(addprefix --ignore=,$(MEASURE))

# The tests that failed in the last run, again, one after another.
failed: $(READY)
	$(BIN)/pytest --last-failed --last-failed-no-failures none -m "$(MARKS)" $(addprefix --ignore=,$(MEASURE))

# A busy machine can fail a measurement, so failures get a second try.
measure: $(READY)
	$(BIN)/pytest $(SPREAD) -m "$(MARKS)" $(MEASURE) || \
	$(BIN)/pytest --last-failed --last-failed-no-failures none -m "$(MARKS)" $(MEASURE)

# Mixed traffic, or mutated input, for SECONDS, from SEED (by default a random one); ONLY names some of the runs.
SECONDS := 120
soak fuzz: $(READY)
	$(BIN)/python -m tests.$@ --seconds "$(SECONDS)" --seed "$(SEED)" --only "$(ONLY)"

# Each command once, with the lowest versions and on the interpreters that are found, in environments of their own.
smoke:
	bash tests/smoke.sh

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
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[all,dev]'
	@touch $@

clean:
	rm -rf $(VENV) $(DEMO) build dist bench/out

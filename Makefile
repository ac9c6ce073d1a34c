# Everything here needs only Python >= 3.11, make and git: the environment is created on first use.
SHELL := /bin/sh
VENV ?= .venv
PYTHON ?=
WORKERS ?= 2
PYTEST_ARGS ?=
# Of `make attack`: where its cases come from, and the time for each attack.
SEED ?= 1
SECONDS ?= 60

BIN := $(VENV)/bin
PY := $(BIN)/python
PIP := $(PY) -m pip --disable-pip-version-check install --quiet

.DEFAULT_GOAL := help
.PHONY: help run test attack lint style tools bench validate importers gallery docs wheel clean

help:
	@echo "make run       derive, compile and simulate a mechanism, and draw it"
	@echo "make test      ruff, then mypy beside every test that is not marked slow"
	@echo "make attack    damaged files, kills, full disks, guard pages, threads, forks, with figures (SEED=1 SECONDS=60)"
	@echo "make lint      ruff and mypy"
	@echo "make bench     speed against peers, as a table and JSON"
	@echo "make validate  the slow tests and the validation table"
	@echo "make importers a folder of URDF and MJCF models against other programs: JOURDAIN_MODELS=FOLDER make importers"
	@echo "make gallery   the examples as a static site in out/site"
	@echo "make docs      the documentation in out/docs"
	@echo "make wheel     a wheel with the kernels' machine code in dist/"
	@echo "make clean     remove everything built, except $(VENV)"
	@echo "Variables: PYTHON=python3.12  VENV=$(VENV)  WORKERS=$(WORKERS)  PYTEST_ARGS='-k pendulum'"

run: $(VENV)/.run
	$(PY) -m jourdain.demo

# Types are checked beside the tests, because mypy has use for one core only; what it says stands below their summary.
test: style tools
	@mkdir -p .cache; $(BIN)/mypy >.cache/types.txt 2>&1 & types=$$!; trap 'kill $$types 2>/dev/null' INT TERM; \
	$(PY) -m pytest -n $(WORKERS) --dist worksteal -m "not slow" -rfER --durations=15 --timeout=300 $(PYTEST_ARGS); tests=$$?; \
	wait $$types; types=$$?; echo "mypy:"; cat .cache/types.txt; \
	test $$tests -eq 0 || echo "make test: tests failed" >&2; test $$types -eq 0 || echo "make test: mypy failed" >&2; \
	test $$tests -eq 0 && test $$types -eq 0

attack: $(VENV)/.full
	$(PY) -m tests.attack --seed $(SEED) --seconds $(SECONDS)

lint: style
	$(BIN)/mypy

style: $(VENV)/.full
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

tools:
	@sh tools/install_test_tools.sh

bench: $(VENV)/.full
	$(PY) -m benchmarks.run

validate: $(VENV)/.full
	$(PY) -m pytest -n $(WORKERS) --dist worksteal -m slow --durations=15 $(PYTEST_ARGS) || test $$? -eq 5
	$(PY) -m benchmarks.validate
	$(PY) -m benchmarks.impacts
	$(PY) -m benchmarks.flexible_arms
	$(PY) -m benchmarks.education
	$(PY) -m benchmarks.energy_consistent

importers: $(VENV)/.full
	$(PY) -m benchmarks.importers

gallery: $(VENV)/.full
	$(PY) docs/gallery.py

docs: $(VENV)/.full
	$(PY) docs/build.py

wheel: $(VENV)/.full
	$(PY) tools/ship_kernels.py
	$(PY) -m pip --disable-pip-version-check wheel --quiet --no-deps --wheel-dir dist .

clean:
	rm -rf build dist out jourdain/native/shipped_objects .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find jourdain tests -name __pycache__ -type d -prune -exec rm -rf {} +

# What a user of plots needs: little to download, so that the first `make run` is short.
$(VENV)/.run: pyproject.toml | $(PY)
	@echo "Installing jourdain into $(VENV) ..."
	@$(PIP) --editable '.[plot]'
	@touch $@

# Everything; peers are optional because not every platform has binaries of all of them.
$(VENV)/.full: pyproject.toml | $(PY)
	@echo "Installing jourdain, its extras and the test tools into $(VENV) (a few minutes at first) ..."
	@$(PIP) --editable '.[all,test,dev]'
	@$(PIP) --only-binary :all: --editable '.[peers]' || \
		echo "Some peers cannot be installed here: the tests that compare with them are skipped."
	@touch $(VENV)/.run $@

$(PY):
	@set -e; found=; \
	for candidate in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11 python; do \
		if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
			found=$$candidate; break; \
		fi; \
	done; \
	if [ -z "$$found" ]; then \
		echo "Jourdain needs Python 3.11 or newer, and none was found on PATH." >&2; \
		echo "Install one, or name it: make PYTHON=/path/to/python3.12 ..." >&2; \
		exit 1; \
	fi; \
	if ! "$$found" -c 'import ensurepip, venv' >/dev/null 2>&1; then \
		echo "$$found cannot create environments: install its venv module (Debian, Ubuntu: apt install python3-venv)." >&2; \
		exit 1; \
	fi; \
	echo "Creating $(VENV) with $$found ($$("$$found" --version)) ..."; \
	"$$found" -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# Everything that these targets need is installed by them into .venv; Python 3.11 or newer and make are enough.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
# What the demonstration of a real survey needs: 32 packages in place of 160.
DATA := .venv/.installed-data

# Tests start processes by the dozen: modules are compiled once, whatever the environment says of it.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo warm-up test crashes test-all test-affected test-rest test-bounds check lint types imports docs pictures package bench bench-quick mutants clean help

help:
	@echo "make demo     anonymize a real table, print what was achieved, write a report to open"
	@echo "make warm-up  compile all loops now, on all cores, rather than in first runs"
	@echo "make test     the tests of each commit: six minutes on two cores at most"
	@echo "make test-affected  those of them that concern what you changed, by the imports"
	@echo "make test-all every seed, combination, example, page, walk and crash"
	@echo "make test-rest  the same for the packages that you changed"
	@echo "make test-bounds  the tests of algorithms with loops that check every index: for changes of loops"
	@echo "make check    lint, types, import rules, then the tests"
	@echo "make docs     build the documentation: docs/_build/html/index.html"
	@echo "make pictures take the pictures of the studio for the documentation again, in a browser"
	@echo "make package  build wheel and source distribution, and try the wheel with the oldest and newest versions"
	@echo "make bench    measure the papers' figures, other tools and speed; goes on where it was interrupted at the same commit"
	@echo "make bench-quick  the same on small tables, to see that every part runs"
	@echo "make mutants  whether tests notice wrong lines: a sample of mutants of models, verification and TP's kernels"

$(DATA): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "shoal needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[data]'
	@touch $(DATA)

$(STAMP): $(DATA)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(STAMP)

demo: $(DATA)
	$(BIN)/shoal demo --force -o demo-release

warm-up: $(STAMP)
	$(BIN)/shoal warm-up

# One process more than there are cores: tests that wait for a browser, Spark or another process leave theirs idle.
WORKERS = $$($(BIN)/python -c 'from shoal._core.threads import usable_cores; print(1 + usable_cores())')
# WARM=1: the loops are known to be compiled; to find that out takes ten seconds.
test: $(if $(WARM),$(STAMP),warm-up)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -q
	@for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do \
	  command -v $$name >/dev/null && exit 0; done; \
	  echo "NO CHROMIUM WAS FOUND: the studio was NOT tested in a browser. Install it: apt-get install chromium"
	@$(BIN)/python -c 'from shoal.io.spark_session import check_java; check_java()' 2>/dev/null || \
	  echo "NO JAVA 17 WAS FOUND: the engine of Spark was NOT tested. Install it: apt-get install openjdk-17-jre-headless"

# Every call of the system fails once while releases, keys and erasures are written; then 5,000 kills and signals.
crashes: warm-up
	$(BIN)/python -m tests.crashes.harness each
	$(BIN)/python -m tests.crashes.harness 5000

test-all: export SHOAL_THOROUGH=1
test-all: test

# SINCE=COMMIT: what is different from it; by default, from where the branch left main.
test-affected: $(if $(WARM),$(STAMP),warm-up)
	@chosen=$$($(BIN)/python .ci/affected.py $(if $(SINCE),--since $(SINCE))); \
	  test -z "$$chosen" || $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -q $$chosen

test-rest: export SHOAL_THOROUGH=1
test-rest: $(if $(WARM),$(STAMP),warm-up)
	@chosen=$$($(BIN)/python .ci/affected.py --packages $(if $(SINCE),--since $(SINCE))); \
	  test -z "$$chosen" || $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -q $$chosen

# Compiled with checks of all indices, which takes minutes, and kept apart from the loops of all other runs.
test-bounds: $(STAMP)
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$${TMPDIR:-/tmp}/shoal-checked-loops \
	  $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -q tests/algorithms tests/grouping tests/pipeline tests/engines

mutants: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'cosmic-ray==8.7.0' coverage
	$(BIN)/python .ci/mutants.py --sample $(or $(SAMPLE),40) --seed $(or $(SEED),1)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

imports: $(STAMP)
	$(BIN)/lint-imports

check: lint types imports test

docs: $(STAMP)
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet docs docs/_build/html

pictures: $(STAMP)
	SHOAL_THOROUGH=1 SHOAL_NEEDS_BROWSER=1 SHOAL_DOCS_PICTURES=docs/_static/studio $(BIN)/python -m pytest -n 0 -q tests/studio/test_browser.py -k "release_for_a_board or by_mouse or visits_of_patients or officer"

package: $(STAMP)
	BIN=$(BIN) .ci/package

bench: $(STAMP)
	$(BIN)/python -m benchmarks --resume

bench-quick: $(STAMP)
	$(BIN)/python -m benchmarks --quick --results $${TMPDIR:-/tmp}/shoal-bench-quick

clean:
	rm -rf .venv demo-release demo-release.private .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist docs/_build docs/reference/generated

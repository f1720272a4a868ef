# Everything a newcomer needs: `make demo`, then `make test`. Both make the environment first.
# Python: 3.11 or newer; another one with `make PYTHON=python3.13 demo`.
PYTHON ?= python3
# The versions that pyproject.toml promises, for `make test-pythons`.
PYTHONS ?= 3.11 3.12 3.13 3.14
# Processes that run the tests.
WORKERS ?= auto
# Tests that run: all but those marked slow, so that a change is tested in five minutes.
SELECT ?= -m "not slow"
VENV := .venv
BIN := $(VENV)/bin
DEMO_STAMP := $(VENV)/.demo-installed
STAMP := $(VENV)/.installed
DOCS_STAMP := $(VENV)/.docs-installed
# Bytecode and numba's cache make every later start quick.
unexport PYTHONDONTWRITEBYTECODE
comma := ,
# `$(call install,FOLDER,PACKAGES)`: uv takes seconds where pip takes minutes. It knows nothing of
# pip's settings but the index that is handed over, so pip does the work where uv fails.
install = index=$${PIP_INDEX_URL:-$$($(1)/bin/python -m pip config get global.index-url 2>/dev/null)}; \
	$(1)/bin/python -m pip install --quiet --no-compile uv --constraint constraints.txt 2>/dev/null && \
	UV_DEFAULT_INDEX="$$index" UV_HTTP_TIMEOUT=30 \
	    $(1)/bin/uv pip install --quiet --python $(1)/bin/python $(2) --constraint constraints.txt 2>/dev/null || \
	$(1)/bin/python -m pip install --quiet --no-compile $(2) --constraint constraints.txt

.PHONY: browser demo java test test-slow test-all test-only test-pythons test-spark release lint docs bench bench-cells bench-accuracy bench-papers bench-guarantees bench-scale clean

demo: $(DEMO_STAMP)
	$(BIN)/tamis fit -o demo
	@echo "Open demo/report.html in a browser."

test: lint test-only

# Kills, other processes, fuzzing, simulations, experiments and slow estimators' default checks.
test-slow: browser
	$(MAKE) --no-print-directory test-only SELECT="-m slow"

# Chromium for the tests of pages, from the system's packages; without it, these tests are skipped.
BROWSERS := chromium chromium-browser google-chrome google-chrome-stable chrome
browser:
	@for name in $(BROWSERS); do command -v $$name >/dev/null && exit 0; done; \
	if ! command -v apt-get >/dev/null || [ "$$(id -u)" != 0 ]; then \
	    echo "No Chromium: tests of pages are skipped. Install the system package chromium to run them."; \
	elif ! { apt-get update -qq && apt-get install -y -qq chromium; } >/dev/null 2>&1; then \
	    echo "Chromium cannot be installed here: tests of pages are skipped."; fi

# Spark on this machine with two executor processes, in an environment of its own.
test-spark: java .venv-spark/.installed
	OMP_NUM_THREADS=1 .venv-spark/bin/python -m pytest -v --no-header --durations=10 tests/spark

.venv-spark/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-spark
	$(call install,.venv-spark,--editable ".[spark]" hypothesis psutil pytest)
	touch $@

java:
	@command -v java >/dev/null && exit 0; \
	if ! command -v apt-get >/dev/null || [ "$$(id -u)" != 0 ]; then \
	    echo "Spark needs Java, which is missing: install version 17 or newer, on Debian the package default-jre-headless."; exit 1; \
	elif ! { apt-get update -qq && apt-get install -y -qq default-jre-headless; } >/dev/null 2>&1; then \
	    echo "Spark needs Java, and apt-get cannot install default-jre-headless here."; exit 1; fi

test-all: test test-slow

# One thread for each process that runs tests: there is one process for each core. Neighbouring
# tests share a process, and with it what they train.
test-only: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(SELECT)

# Looks for each version on the PATH, then among those that pyenv has installed.
test-pythons:
	@passed= failed= missing=; \
	for version in $(PYTHONS); do \
	    found=; \
	    for python in python$$version "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/$$version.*/bin/python; do \
	        if [ "$$("$$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>&1)" = $$version ]; \
	        then found=$$python; break; fi; \
	    done; \
	    if [ -z "$$found" ]; then missing="$$missing $$version"; continue; fi; \
	    echo "Python $$version: $$found, environment .venv-$$version"; \
	    if $(MAKE) --no-print-directory test-only SELECT= PYTHON="$$found" VENV=.venv-$$version; \
	    then passed="$$passed $$version"; else failed="$$failed $$version"; fi; \
	done; \
	echo "Passed:$${passed:- none}. Failed:$${failed:- none}. Not found:$${missing:- none}."; \
	[ -n "$$passed" ] && [ -z "$$failed" ]

# Sdist and wheel in dist/: built twice, looked into, and tried in fresh environments (half an hour).
release: $(STAMP)
	$(BIN)/python tools/changelog.py --check
	$(BIN)/python tools/release.py --output dist

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy

# build/docs/index.html: every page, with the examples run. Offline once the environment exists; a
# warning is an error. Only what has changed is built again.
docs: $(DOCS_STAMP)
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build -q -j 1 -W --keep-going -c docs . build/docs
	@echo "The documentation is in build/docs/index.html."

bench: $(STAMP)
	$(BIN)/python benchmarks/speed/centers.py
	$(BIN)/python benchmarks/speed/first_run.py
	$(BIN)/python benchmarks/speed/projections.py --picture benchmarks/results/speed_projections.png
	$(call install,$(VENV),skglm)
	$(BIN)/python benchmarks/speed/primal_dual.py
	$(BIN)/python benchmarks/speed/landmarks.py
	$(BIN)/python benchmarks/speed/datumwise.py
	$(BIN)/python benchmarks/speed/panel_words.py
	$(BIN)/python benchmarks/speed/tables.py
	$(BIN)/python benchmarks/speed/comparison.py
	$(BIN)/python benchmarks/house/boundaries.py

# scanpy and illico stay out of the environment of the project.
CELLS := .venv-cells
bench-cells:
	$(PYTHON) -m venv $(CELLS)
	$(call install,$(CELLS),--editable . pytest scanpy illico)
	$(CELLS)/bin/python -m pytest -q --noconftest tests/centers/test_markers_scanpy.py
	$(CELLS)/bin/python benchmarks/speed/cells.py

bench-accuracy: $(STAMP)
	$(call install,$(VENV),abess fasterrisk requests)
	$(BIN)/python benchmarks/accuracy/at_k.py --jobs 2
	$(BIN)/python benchmarks/accuracy/at_k_text.py
	$(BIN)/python benchmarks/accuracy/halves.py --jobs 2
	$(BIN)/python benchmarks/accuracy/rules.py store --store build/rules
	$(BIN)/python benchmarks/accuracy/rules.py judge --store build/rules

bench-papers: $(STAMP)
	$(BIN)/python benchmarks/papers/sparse_centers/run.py
	$(BIN)/python benchmarks/papers/primal_dual/run.py
	$(BIN)/python benchmarks/papers/kms/run.py --splits 5
	$(BIN)/python benchmarks/papers/datumwise/run.py
	$(BIN)/python benchmarks/honest_scores.py --jobs 2
	$(BIN)/python benchmarks/false_alarms.py --jobs 2 > benchmarks/results/false_alarms.md
	$(BIN)/python benchmarks/accuracy/priors.py > benchmarks/results/priors.md

# Tables of up to 8 GB with 1 GB of memory, then an atlas of cells with 4 GB. Needs 9 GB of disk
# and resumes where it was interrupted.
bench-scale: $(STAMP)
	$(BIN)/python benchmarks/speed/scale.py
	$(BIN)/python benchmarks/speed/scale.py --atlas
	$(BIN)/python benchmarks/speed/cost_model.py

# Simulations that can fail; resumes where it was interrupted.
bench-guarantees: $(STAMP)
	$(BIN)/python benchmarks/guarantees.py --jobs 2

$(DEMO_STAMP): pyproject.toml constraints.txt
	@echo "Making the environment in $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(call install,$(VENV),--editable ".[cli$(comma)plot]")
	@touch $@

$(STAMP): $(DEMO_STAMP)
	@echo "Adding what tests need to $(VENV) ..."
	@$(call install,$(VENV),--editable ".[dev]")
	@touch $@

$(DOCS_STAMP): $(STAMP)
	@$(call install,$(VENV),--editable ".[docs]")
	@touch $@

clean:
	rm -rf build dist docs/api docs/auto_examples docs/reference.rst $(VENV) $(CELLS) $(PYTHONS:%=.venv-%) .venv-spark .pytest_cache .ruff_cache .mypy_cache .import_linter_cache

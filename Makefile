# Everything a newcomer needs: `make demo`, then `make test`. Both make the environment first.
# Python: 3.11 or newer; another one with `make PYTHON=python3.13 demo`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Compiled bytecode and numba's cache make every later start quick.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint bench bench-papers clean

demo: $(STAMP)
	$(BIN)/tamis fit

test: $(STAMP) lint
	$(BIN)/python -m pytest -n auto

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

bench: $(STAMP)
	$(BIN)/python benchmarks/speed/centers.py
	$(BIN)/python benchmarks/speed/projections.py --picture benchmarks/results/speed_projections.png
	$(BIN)/python -m pip install --quiet skglm --constraint constraints.txt
	$(BIN)/python benchmarks/speed/primal_dual.py
	$(BIN)/python benchmarks/speed/landmarks.py
	$(BIN)/python benchmarks/speed/datumwise.py
	$(BIN)/python benchmarks/speed/tables.py

bench-papers: $(STAMP)
	$(BIN)/python benchmarks/papers/sparse_centers/run.py
	$(BIN)/python benchmarks/papers/primal_dual/run.py
	$(BIN)/python benchmarks/papers/kms/run.py --splits 20 --max-rows 1000
	$(BIN)/python benchmarks/papers/datumwise/run.py
	$(BIN)/python benchmarks/honest_scores.py
	$(BIN)/python benchmarks/accuracy/priors.py > benchmarks/results/priors.md

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[dev]" --constraint constraints.txt
	touch $(STAMP)

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .import_linter_cache

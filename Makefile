# The two commands of a newcomer are `make run` and `make test`; the rest is for developers.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: help run test test-all lint types check format lock bench bench-smoke bench-jobs bench-compare clean

help:  ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

run: $(READY)  ## Install, generate a small sample, run the whole pipeline on it
	@test -d sample || { $(BIN)/acmetrace sample sample.part && mv sample.part sample; }
	$(BIN)/acmetrace run sample --out out
	@$(BIN)/acmetrace show out
	@echo "Results are in $(CURDIR)/out (tables, util_pkl, validated schemas, manifest.json)."

test: $(READY)  ## Install and run the tests (fast tier)
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow"

test-all: $(READY)  ## All tests, the slow ones too
	$(BIN)/python -m pytest -q -n 2 --dist worksteal

lint: $(READY)  ## Check style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)  ## Check types
	$(BIN)/mypy flows tasks schemas tests/bench

check: lint types test  ## Everything CI checks

format: $(READY)  ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: $(READY)  ## Renew requirements.lock from pyproject.toml
	$(BIN)/uv pip compile pyproject.toml --extra dev --extra bench --extra s3 --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-header --quiet --upgrade -o requirements.lock

bench: $(READY)  ## Measure against other tools, about 10 minutes and 6 GB of disk
	$(BIN)/python -m tests.bench run

bench-smoke: $(READY)  ## Check on tiny files that all methods agree
	$(BIN)/python -m tests.bench smoke

bench-jobs: $(READY)  ## Measure job logs at their real size against pandas, about 2 minutes
	$(BIN)/python -m tests.bench jobs

bench-compare: $(READY)  ## Compare two result files: make bench-compare OLD=a.json NEW=b.json
	@test -n "$(OLD)" && test -n "$(NEW)" \
	  || { echo "Name two result files: make bench-compare OLD=a.json NEW=b.json"; exit 2; }
	@$(BIN)/python -m tests.bench compare "$(OLD)" "$(NEW)"

clean:  ## Remove what make run and make test made
	rm -rf $(VENV) sample sample.part out

# uv installs the locked set in a fraction of pip's time; where it cannot reach a
# package index that only pip is configured for, pip does it.
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@awk '/^[a-z]/ { keep = /^uv==/ } keep' requirements.lock > $(VENV)/installer.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(VENV)/installer.txt
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements.lock \
	  || $(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable . \
	  || $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $(READY)

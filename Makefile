# make demo    a synthetic walk becomes an audited reference for anatomic_soma, in out/demo
# make test    all tests, the slow ones too
# make lint    formatting, lint, types
# make clean   remove .venv, out and what the tools leave
#
# Needs Python >= 3.11 with venv, and make. PYTHON=python3.12 chooses an interpreter.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt
PYTEST_ARGS ?= -n 2 --dist worksteal --durations=10

ifndef PYTHON
PYTHON := $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; \
  done)
endif

.PHONY: help demo test lint clean
.DEFAULT_GOAL := help

help:
	@sed -n 's/^# make/make/p' Makefile

demo: $(VENV)/.demo
	$(BIN)/motionkit demo --out out/demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

clean:
	rm -rf $(VENV) out build dist .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps lie inside the environment, so that they go when it goes. The installation is
# editable: only a change of pyproject.toml or of the pins calls pip again.
$(VENV)/.created:
	@test -n "$(PYTHON)" && $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "error: no Python 3.11 or newer found" >&2; \
	  echo "help: install one, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3" >&2; \
	  exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "error: $(PYTHON) has no venv module" >&2; \
	  echo "help: install it, on Debian and Ubuntu: apt install python3-venv" >&2; \
	  exit 2; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# What the tests need holds all that the demo needs.
$(VENV)/.demo: pyproject.toml constraints.txt | $(VENV)/.created
	@if [ $(VENV)/.dev -nt pyproject.toml ] && [ $(VENV)/.dev -nt constraints.txt ]; then :; else \
	  echo "installing motionkit into $(VENV), a minute or two"; $(PIP) -e '.[view]'; fi
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/.created
	@echo "installing motionkit and what its tests need into $(VENV), a minute or two"
	@$(PIP) -e '.[dev]'
	@touch $@

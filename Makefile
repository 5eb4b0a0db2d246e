# make lab     JupyterLab, opened on the tour; sets everything up the first time   (PORT=8888, LAB_ARGS=...)
# make test    all that can fail: the checks, the tests, every notebook
# make bench   the speed of the runtime as ratios to LangGraph's, written in benchmarks/README.md   (BENCH_ARGS=...)
# make check   the quick part of it: ruff, mypy, import-linter
# make pythons the tests on each Python of PYTHONS that uv finds; says which it leaves out   (PYTHONS="3.11 3.12")
# make tour    runs the tour without a window and writes build/tour.html, which shows its pictures offline
# make clean   removes what these leave behind; the environment in .venv stays
#
# Set-up writes a stamp into .venv. A stamp newer than pyproject.toml means that there is nothing to do: no pip, no network.

.PHONY: lab test bench check tour clean browser
.DELETE_ON_ERROR:
.DEFAULT_GOAL := lab

PORT     ?= 8888
LAB_ARGS ?=
TOUR     := notebooks/00_tour.ipynb
COURSE   := $(wildcard notebooks/[0-9]*.ipynb)

PY        := .venv/bin/python
PIP       := $(PY) -m pip --disable-pip-version-check
VENV_DONE := .venv/.stamp-venv
LAB_DONE  := .venv/.stamp-lab
TEST_DONE := .venv/.stamp-test

# Jupyter keeps what it writes in build/jupyter, and still reads the settings of whoever sits here.
JUPYTER := $(CURDIR)/build/jupyter
export JUPYTER_CONFIG_PATH      := $(HOME)/.jupyter$(if $(JUPYTER_CONFIG_PATH),:$(JUPYTER_CONFIG_PATH))
export JUPYTER_CONFIG_DIR       := $(JUPYTER)/config
export JUPYTER_DATA_DIR         := $(JUPYTER)/data
export JUPYTER_RUNTIME_DIR      := $(JUPYTER)/runtime
export JUPYTERLAB_WORKSPACES_DIR := $(JUPYTER)/workspaces
export JUPYTERLAB_SETTINGS_DIR  := $(firstword $(wildcard $(HOME)/.jupyter/lab/user-settings) $(JUPYTER)/settings)
export IPYTHONDIR               := $(JUPYTER)/ipython

# A browser opens by itself where there is a desktop; root's cannot.
ROOT    := $(filter 0,$(shell id -u))
DESKTOP := $(if $(filter Darwin,$(shell uname -s)),yes,$(DISPLAY)$(WAYLAND_DISPLAY))

$(IPYTHONDIR):
	@mkdir -p $@

# ---------------------------------------------------------------- the commands

lab test tour: | $(IPYTHONDIR)

# The course's own notebooks are trusted, so that their pictures show before anything has run.
lab: $(LAB_DONE)
	@.venv/bin/jupyter-trust $(COURSE) >/dev/null
	$(PY) -m jupyterlab --ServerApp.port=$(PORT) --LabApp.default_url=/lab/tree/$(TOUR) --LabApp.extension_manager=readonly \
	    $(if $(ROOT),--allow-root) $(if $(ROOT),--no-browser,$(if $(DESKTOP),,--no-browser)) $(LAB_ARGS)

test: check browser
	$(PY) -m pytest
	$(PY) -m pytest --nbval --nbval-current-env --nbval-sanitize-with tests/nbval.cfg $(COURSE)

bench: $(TEST_DONE)
	$(PY) -m benchmarks $(BENCH_ARGS)

check: $(TEST_DONE)
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	.venv/bin/lint-imports

# Each has an environment of its own, which uv keeps in its cache. No Python is fetched: `uv python install` does that.
PYTHONS ?= 3.11 3.12 3.13 3.14
UV      ?= uv
pythons: | $(IPYTHONDIR)
	@command -v $(UV) >/dev/null || { echo 'This needs uv: pip install uv, or UV=/path/to/uv.' >&2; exit 1; }
	@failed=; for version in $(PYTHONS); do \
	  if $(UV) python find --no-python-downloads $$version >/dev/null 2>&1; then \
	    echo "Python $$version:"; \
	    $(UV) run --no-project --isolated --no-python-downloads --python $$version --with-editable '.[test]' \
	      python -m pytest -q --ignore=tests/browser || failed="$$failed $$version"; \
	  else \
	    echo "Python $$version: left out, for uv finds none here ('uv python install $$version' gets one)."; \
	  fi; \
	done; test -z "$$failed" || { echo "The tests failed on:$$failed" >&2; exit 1; }

# Without the saved state of its widgets, a page shows each widget's picture; without these two addresses it asks no host.
tour: $(LAB_DONE)
	$(PY) -m nbconvert --to html --execute --ExecutePreprocessor.store_widget_state=False \
	    --HTMLExporter.require_js_url= --HTMLExporter.mathjax_url= \
	    --output-dir build --output tour.html $(TOUR)

clean:
	rm -rf build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name .venv -prune -o -type d \( -name __pycache__ -o -name .ipynb_checkpoints \) -print | xargs rm -rf

# ---------------------------------------------------------------- set-up

# Python 3.11 or newer, by whatever name; say PYTHON=... to choose.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
    $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

# An environment that has a working pip is taken as it is. Debian keeps part of venv in a package of its own.
$(VENV_DONE):
	@$(PIP) --version >/dev/null 2>&1 || { \
	  test -n "$(PYTHON)" || { echo 'This needs Python 3.11 or newer on PATH, or PYTHON=/path/to/python3.11.' >&2; exit 1; }; \
	  $(PYTHON) -m venv .venv || { test -n "$(ROOT)" && apt-get update -q && \
	    DEBIAN_FRONTEND=noninteractive apt-get install -qy python3-venv && $(PYTHON) -m venv .venv; } || { \
	    echo 'Python cannot make an environment. On Debian and Ubuntu: apt-get install python3-venv (as root), then again.' >&2; exit 1; }; }
	@touch $@

# The build backend comes first and stays, so that a later `pip install -e .` needs no network.
$(LAB_DONE): pyproject.toml $(VENV_DONE)
	$(PIP) install -q 'hatchling>=1.27'
	$(PIP) install -q --no-build-isolation -e '.[dot,sqlite,notebooks]'
	@mkdir -p .venv/share/jupyter/lab/settings
	@echo '{"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": false}}' \
	    > .venv/share/jupyter/lab/settings/overrides.json  # defaults of this environment: no question about news
	@touch $@

$(TEST_DONE): pyproject.toml $(LAB_DONE)
	$(PIP) install -q --no-build-isolation -e '.[test]'
	@touch $@

# For the tests that look at a real page. Where it cannot be had they are skipped and say so, with CI=true they fail.
BROWSERS := chromium chromium-browser google-chrome google-chrome-stable
browser:
	@for name in $(BROWSERS); do command -v $$name >/dev/null && exit 0; done; \
	test -n "$(ROOT)" && apt-get update -q && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends chromium fonts-dejavu-core || \
	  echo 'No chromium, and no way to install it here: the browser tests cannot run.' >&2

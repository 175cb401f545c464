# Every target makes the environment that it needs; `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help demo test e2e gpu bench cluster cluster-down cluster-test images lint format stubs lock released clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
UV := $(BIN)/uv
UV_VERSION := 0.13.9
ARGS ?=

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY) ## a GPU cluster in one process, asked the main question (ARGS=--once to end after it; --health: a GPU fails)
	@$(BIN)/gpupods simulate --demo $(ARGS)

test: $(READY) ## the tests that need no cluster, GPU, container runtime or root
	$(BIN)/python -m pytest -m "not e2e and not gpu and not bench and not cluster" $(ARGS)

e2e: $(READY) ## the tests on real parts: kube-apiserver, containerd, grpc-gateway (Debian, root, Go)
	$(BIN)/python -m tests.realparts.parts
	$(BIN)/python -m tests.realparts.go.gateway.build
	$(BIN)/python -m tests.manifests.helm
	$(BIN)/python -m pytest -m e2e --timeout 600 $(ARGS)

gpu: $(READY) ## the tests on a real NVIDIA GPU
	$(BIN)/python -m pytest -m gpu -rs $(ARGS)

bench: $(READY) ## figures, each as a ratio to a baseline of the same run (Debian, root, Go)
	$(BIN)/python -m tests.realparts.parts
	$(BIN)/python -m tests.bench $(ARGS)

cluster: $(READY) ## a real Kubernetes with two GPU nodes on this machine, until cluster-down
	@$(BIN)/python -m tests.cluster.keeper up

cluster-down: $(READY) ## take it away without a trace
	@$(BIN)/python -m tests.cluster.keeper down

cluster-test: $(READY) ## gpupods in a real Kubernetes (Debian, root, Go)
	$(BIN)/python -m tests.cluster.parts
	$(BIN)/python -m pytest -m cluster --timeout 1800 $(ARGS)

images: ## the container images, with docker, podman or buildah (BASE_IMAGE=..., BUILDER=...)
	@docker/build.sh

lint: $(READY) build/googleapis ## style, types, layers, the protos, and that the stubs match them
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/buf lint
	$(BIN)/buf build --exclude-source-info -o build/protos.binpb
	$(BIN)/buf breaking build/protos.binpb --path gpupods/v1alpha1 --exclude-imports \
		--against protos/released.binpb
	$(BIN)/python -m tests.stubs_match

format: $(READY) ## lay out the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix-only --quiet .

stubs: $(READY) ## make the stubs of protos/ again after a change there
	PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/python build_stubs.py

lock: $(READY) ## pin the newest versions that pyproject.toml allows
	$(UV) pip compile -q --universal --upgrade --generate-hashes --no-header \
		pyproject.toml -o requirements/run.lock
	$(UV) pip compile -q --universal --upgrade --generate-hashes --no-header \
		pyproject.toml --group dev -c requirements/run.lock -o requirements/dev.lock
	$(UV) pip compile -q --universal --upgrade --generate-hashes --no-header \
		requirements/nodeagent.in -c requirements/run.lock -o requirements/nodeagent.lock
	$(BIN)/python -c 'import tomllib; \
	print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' | \
		$(UV) pip compile -q --universal --upgrade --generate-hashes --no-header - \
		-c requirements/dev.lock -o requirements/build.lock

released: $(READY) build/googleapis ## at a release: what `make lint` holds the protos against from now on
	$(BIN)/buf build --exclude-source-info -o build/protos.binpb
	$(BIN)/buf build build/protos.binpb --path gpupods/v1alpha1 -o protos/released.binpb

clean: ## remove the environment and all that was built
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name '*_pb2*.py*' -not -path './.venv/*' -delete

$(READY): requirements/dev.lock pyproject.toml build_stubs.py $(shell find protos -name '*.proto')
	@$(PYTHON) -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "gpupods needs Python 3.11 or newer with venv (Debian: apt install python3 python3-venv); \
	another one is named by make PYTHON=..." >&2; exit 2; }
	@echo "making the environment in $(VENV) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q uv==$(UV_VERSION)
	@$(UV) pip install -q --python $(BIN)/python --require-hashes -r requirements/dev.lock
	@PATH=$(CURDIR)/$(BIN):$$PATH $(UV) pip install -q --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@

build/googleapis: $(READY)
	@mkdir -p $@/google/api
	@cp $$($(BIN)/python -c 'import google.api as a; print(next(iter(a.__path__)))')/*.proto $@/google/api/
	@touch $@

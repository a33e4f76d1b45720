# What people type. `make test` is what CI runs; everything it needs it builds or starts itself.

# Where the real API servers and helm are built to.
TARGET ?= $(or $(CARGO_TARGET_DIR),target)
CARGO ?= cargo

.PHONY: help test test-openstack conformance lint bench demo landscape clouds generate static

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

test: ## Run every test, on real API servers where Go is there; ends with one line of totals
	@scripts/test

test-openstack: ## Clean projects of a real OpenStack, and compare with its own client; no part of `make test`, takes minutes
	@clouds/test-openstack

conformance: ## Send the same requests to the embedded and the real API server, and compare
	@$(CARGO) test -p allotment-garden --test conformance

lint: ## Formatting, clippy, docs, licences, Go vet
	@scripts/lint

bench: ## Print a table of costs and write bench/results.json
	@$(CARGO) run --release --features count-allocations -- bench

demo: ## Show the product working
	@$(CARGO) run --release -- demo

landscape: ## Start a real garden, control plane and shoot API servers to play with
	@landscape/build $(TARGET)/landscape
	@$(TARGET)/landscape up --person

clouds: ## Start an AWS and an OpenStack for the account cleaner to play with
	@clouds/both

static: ## Build the binary that goes into the image (needs musl-tools and the musl target)
	@$(CARGO) build --profile dist --locked --target x86_64-unknown-linux-musl -p allotment-cli
	@ldd $(TARGET)/x86_64-unknown-linux-musl/dist/allotment 2>&1 | grep -q 'statically linked'
	@$(TARGET)/x86_64-unknown-linux-musl/dist/allotment --version

generate: ## Write the chart's copies of the CRDs and admission policies anew
	@ALLOTMENT_GENERATE=1 $(CARGO) test --quiet -p allotment-api -p allotment-core --test chart

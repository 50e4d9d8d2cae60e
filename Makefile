# The project's jobs. `make` lists them; each one gets the tools it needs.

GOFUMPT_VERSION       := v0.12.0
GOLANGCI_LINT_VERSION := v2.15.0
GOVULNCHECK_VERSION   := v1.9.0

PKG      ?= ./...
RACE     ?= -race
TIMEOUT  ?= 5m
FUZZTIME ?= 30s
CHAOSTIME ?= 30m
STEPS    ?= 1000000

# A tool is built once. Its name carries its version and Go's, so a change of
# either builds it anew: golangci-lint refuses code newer than its own Go.
BIN           := .bin/$(firstword $(shell go env GOVERSION))
GOFUMPT       := $(BIN)/gofumpt-$(GOFUMPT_VERSION)
GOLANGCI_LINT := $(BIN)/golangci-lint-$(GOLANGCI_LINT_VERSION)
GOVULNCHECK   := $(BIN)/govulncheck-$(GOVULNCHECK_VERSION)

.PHONY: help
help: ## list the jobs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: ## start the gin example with the in-process store (ARGS="-addr :9000")
	go run ./examples/gin $(ARGS)

.PHONY: test
test: deps ## run the tests, with real Redis servers and the race detector (PKG=./core/...)
	$(if $(RACE),CGO_ENABLED=1) go test $(RACE) -shuffle=on -timeout=$(TIMEOUT) $(ARGS) $(PKG)

.PHONY: chaos
chaos: deps ## outages of full length, some of each fault, then random ones for CHAOSTIME (30m)
	go test ./fallback -run 'TestAnOutageMultipliesNothing|CutOff' -count=1 -timeout=20m -v -chaos
	go test ./internal/faultmatrix -count=1 -timeout=10m -v
	go test ./fallback -run TestRandomFaults -count=1 -timeout=0 -v -weather $(CHAOSTIME)

.PHONY: matrix
matrix: deps ## every fault in every topology under every client, and the table of docs/failure.md
	go test ./internal/faultmatrix -run TestMatrix -count=1 -timeout=60m -v -matrix $(CURDIR)/docs/failure.md $(ARGS)

.PHONY: check
check: fmt-check lint vet tidy-check vuln test bench-check ## everything that a change has to pass

.PHONY: deps
deps: ## get what the tests need: Redis, Sentinel, a C compiler for the race detector
	@scripts/need.sh redis-server redis-sentinel redis-cli $(if $(RACE),cc)

.PHONY: fmt
fmt: $(GOFUMPT) ## format the code
	$(GOFUMPT) -w .

.PHONY: fmt-check
fmt-check: $(GOFUMPT)
	@files=$$($(GOFUMPT) -l .) && { test -z "$$files" || { echo "not formatted (make fmt mends it):"; echo "$$files"; exit 1; }; }

.PHONY: lint
lint: $(GOLANGCI_LINT) ## run the linters of .golangci.yml
	$(GOLANGCI_LINT) run
	cd bench && $(abspath $(GOLANGCI_LINT)) run

.PHONY: vet
vet:
	go vet ./...

.PHONY: tidy
tidy: ## bring go.mod and go.sum up to date, those of bench too
	go mod tidy
	cd bench && go mod tidy

.PHONY: tidy-check
tidy-check:
	go mod tidy -diff

.PHONY: vuln
vuln: $(GOVULNCHECK) ## look for known vulnerabilities in what we call
	@scripts/vuln.sh $(GOVULNCHECK)

.PHONY: fuzz
fuzz: deps ## run every fuzz target for FUZZTIME (30s)
	@scripts/fuzz.sh $(FUZZTIME)

.PHONY: flood
flood: deps ## send 10 million keys through the flood guards; docs/flood-guard.md has the figures
	go test ./core/floodguard -run TestFlood -v -flood 10000000
	go test ./core/redisguard -run TestFlood -v -flood 10000000
	go test ./core/redisguard -run TestFlood -v -flood 500000 -rate 50000
	go test ./core/redisguard -run TestFlood -v -flood 500000 -rate 100000

.PHONY: ceilings
ceilings: deps ## 10 million keys through the stores, a Redis that hangs, hostile clients: the figures of docs/failure.md
	go test ./core/memstore -run 'TestFlood$$' -count=1 -timeout=10m -v -flood 10000000
	go test ./fallback -run TestFlood -count=1 -timeout=10m -v -flood 10000000
	go test ./core/redisstore -run 'TestRequestsThatWaitCostLittle|TestRequestsDuringAHangLeaveNothing|TestCallsAreBounded' -count=1 -v
	go test ./core ./fallback -run 'TestKeysAreBounded|TestClientsDisturbNobody' -count=1 -v

.PHONY: differential
differential: deps ## compare Redis and the process in STEPS (1000000) random checks of each algorithm
	@scripts/differential.sh $(STEPS)

# bench is a module of its own: what it is measured beside is nobody's dependency.
.PHONY: bench
bench: bench-deps ## measure beside other limiters and write docs/benchmarks.md (ARGS="-help")
	cd bench && go run . $(ARGS)

.PHONY: bench-scale
bench-scale: bench-deps ## measure how the cost grows with levels, keys, replicas and nodes
	cd bench && go run . $(ARGS) scale

.PHONY: bench-check
bench-check: bench-deps
	cd bench && go vet ./... && go test -timeout=$(TIMEOUT) ./...

.PHONY: bench-deps
bench-deps:
	@scripts/need.sh redis-server

.PHONY: cover
cover: deps ## measure test coverage: the total here, every line in cover.html
	go test -timeout=$(TIMEOUT) -coverpkg=./... -coverprofile=cover.out ./...
	@go tool cover -html=cover.out -o cover.html
	@go tool cover -func=cover.out | tail -n 1

$(GOFUMPT):
	$(call install,mvdan.cc/gofumpt@$(GOFUMPT_VERSION))

$(GOLANGCI_LINT):
	$(call install,github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION))

$(GOVULNCHECK):
	$(call install,golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION))

# A tool runs here and needs no cgo, whatever the environment builds for.
define install
	@echo "building $(@F) into $(@D)"
	@GOOS= GOARCH= CGO_ENABLED=0 GOBIN="$(CURDIR)/$(@D)" go install $(1)
	@mv "$(@D)/$(notdir $(firstword $(subst @, ,$(1))))" "$@"
endef

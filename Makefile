# jalon: `make demo` shows it at work, `make test` runs everything.
export CGO_ENABLED = 0
GO ?= go
BIN = bin/jalon

.PHONY: all build demo test bench check fuzz clean

all: build

build: $(BIN)

$(BIN): $(shell find *.go cmd internal -name '*.go' -o -name '*.s') go.mod
	$(GO) build -trimpath -ldflags='-s -w' -o $@ ./cmd/jalon

# The main job on a real program, as any user: no root needed.
demo: $(BIN)
	@scripts/deps.sh demo
	@examples/demo/run.sh $(BIN)

test:
	@scripts/deps.sh test
	$(GO) vet ./...
	$(GO) test -count=1 -timeout 25m ./...

bench: $(BIN)
	@scripts/deps.sh bench
	$(GO) run ./bench -jalon $(BIN)

# What a hit costs with GDB as the front-end, beside gdbserver: the paper's tables.
.PHONY: bench-gdb
bench-gdb: $(BIN)
	@scripts/deps.sh bench-gdb
	$(GO) run ./bench -gdb -jalon $(BIN)

# What a hit of the kernel engine costs, beside bpftrace and ftrace. Needs root.
.PHONY: bench-kernel
bench-kernel: $(BIN)
	@scripts/deps.sh bench-kernel
	$(GO) build -o bin/bench-kernel ./bench/kernel
	bin/bench-kernel -jalon $(BIN)

# The same for kprobes, fentry and their returns, in guests: some ten minutes. The
# guests' processor is emulated: only ratios mean anything.
.PHONY: bench-kernel-guest
bench-kernel-guest:
	@scripts/deps.sh test
	@scripts/deps.sh bench-kernel
	$(GO) test -run '^$$' -bench Guest -benchtime 1x -timeout 60m -v ./bench/kernel

# What a change must pass before it is committed, beside the tests.
check:
	@test -z "$$(gofmt -l *.go cmd internal bench test)" || { gofmt -l *.go cmd internal bench test; exit 1; }
	$(GO) vet ./...
	GOARCH=arm64 $(GO) vet ./...
	GOARCH=arm64 $(GO) build ./...
	$(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 run

# The pages that are made from tables.
.PHONY: generate
generate:
	$(GO) test ./internal/sema ./internal/probe -run TestReference -update

# A minute on each fuzz target.
fuzz:
	@scripts/fuzz.sh 60s

clean:
	rm -rf bin

# The differential and random tests at length: more than a million programs.
.PHONY: test-full
test-full:
	@scripts/deps.sh test
	JALON_FULL=1 JALON_AMD64_RUNS=4000000 JALON_AX_RUNS=200000 SEMA_EXPRS=20000 $(GO) test -count=1 -timeout 120m ./...

# Long runs that try to harm programs, hours of them: programs that nobody wrote for jalon,
# traced at every instruction round by round; programs of java, node, Go and Rust by globs
# of everything; small ones that live every kind of life; other tracers' uprobes; attaching
# while threads come and go; kills of jalon and of what it traces, thousands of times. One
# table of counts at the end. test/torture says how to run a part. Short forms, another
# part every day, are part of `make test`.
.PHONY: torture
torture:
	@scripts/deps.sh test
	@scripts/deps.sh torture
	@GO=$(GO) scripts/torture.sh

# Tests that need the DWARF of a whole kernel: a download of some 300 MB, 600 MB on
# disk (scripts/kernel.sh says where), so not part of `make test`.
.PHONY: test-vmlinux
test-vmlinux:
	@scripts/deps.sh test
	@vars=$$(scripts/kernel.sh debug 6.1) && env $$vars $(GO) test -count=1 -timeout 60m -run Vmlinux ./...

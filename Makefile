# jalon: `make demo` shows an example, `make test` runs all tests.
export CGO_ENABLED = 0
GO ?= go
BIN = bin/jalon
VERSION ?= 0.1.0
LDFLAGS = -w -X main.version=$(VERSION) -X main.revision=$(shell git describe --always --dirty --exclude '*' 2>/dev/null)

.PHONY: all build demo test bench check fuzz clean

all: build

build: $(BIN)

$(BIN): $(shell find *.go cmd internal -name '*.go' -o -name '*.s') go.mod
	$(GO) build -trimpath -ldflags='$(LDFLAGS)' -o $@ ./cmd/jalon

# Installs the program, its manual page and the completion of shells: make install [PREFIX=/usr/local] [DESTDIR=...]
PREFIX ?= /usr/local
.PHONY: install
install: $(BIN)
	install -D -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin/jalon
	scripts/share.sh $(BIN) $(DESTDIR)$(PREFIX)/share

# Static programs for amd64 and arm64 as dist/jalon-VERSION-linux-ARCH.tar.gz and dist/jalon_VERSION_ARCH.deb.
.PHONY: dist
dist:
	@GO=$(GO) VERSION=$(VERSION) LDFLAGS='$(LDFLAGS)' scripts/dist.sh dist

# A conditional tracepoint in a C program. Root is not needed.
demo: $(BIN)
	@scripts/deps.sh demo
	@examples/demo/run.sh $(BIN)

# Packages of Debian are fetched and unpacked while `go vet` compiles. The packages that take longest come first, so that no
# processor waits for one of them at the end. (With more of them than processors at a time the longest is the last, alone.) `go vet`
# has done what `go test` would vet again.
test:
	@scripts/deps.sh test & deps=$$!; echo $(GO) vet ./...; $(GO) vet ./...; vet=$$?; wait $$deps && exit $$vet
	@GO=$(GO) scripts/test.sh -vet=off -count=1 -timeout 60m ./test/... ./...

bench: $(BIN)
	@scripts/deps.sh bench
	$(GO) run ./bench -jalon $(BIN)
	$(GO) run ./bench -jalon $(BIN) -scripts

# The cost of a hit with GDB as the front-end, compared with gdbserver: the paper's tables.
.PHONY: bench-gdb
bench-gdb: $(BIN)
	@scripts/deps.sh bench-gdb
	$(GO) run ./bench -gdb -jalon $(BIN)

# The cost of a hit in the kernel engine, compared with bpftrace and ftrace. Needs root.
.PHONY: bench-kernel
bench-kernel: $(BIN)
	@scripts/deps.sh bench-kernel
	$(GO) build -o bin/bench-kernel ./bench/kernel
	bin/bench-kernel -jalon $(BIN)

# Recording to a file: jalon record beside LTTng-UST and perf, in one run. As root.
.PHONY: bench-record
bench-record: $(BIN)
	@scripts/deps.sh bench-record
	$(GO) run ./bench/record -jalon $(BIN)

# Recording at full rate with rotation, for ten minutes: no event is lost, and neither memory nor descriptors grow.
.PHONY: soak
soak:
	@scripts/deps.sh test
	JALON_SOAK=10m $(GO) test ./test -count=1 -v -timeout 40m -run 'TestSoak$$'

# The same for kprobes, fentry and their returns, in guests; takes about ten minutes.
# The guests' processor is emulated: only ratios are meaningful.
.PHONY: bench-kernel-guest
bench-kernel-guest:
	@scripts/deps.sh test
	@scripts/deps.sh bench-kernel
	$(GO) test -run '^$$' -bench Guest -benchtime 1x -timeout 60m -v ./bench/kernel

# The papers' tables beside ours: runs all benchmarks (about 40 minutes, as root) and writes docs/paper-tables.md. In the
# guests the emulator counts instructions.
FIGURES = bin/figures
PAPER_ROUNDS ?= 3
.PHONY: bench-papers
bench-papers: $(BIN)
	@for target in test bench bench-gdb bench-kernel bench-papers; do scripts/deps.sh $$target; done
	@mkdir -p $(FIGURES)
	$(GO) build -o bin/bench ./bench
	$(GO) build -o bin/bench-kernel ./bench/kernel
	bin/bench -jalon $(BIN) -rounds $(PAPER_ROUNDS) -figures $(FIGURES)/hits.json
	bin/bench -jalon $(BIN) -rounds $(PAPER_ROUNDS) -papers -figures $(FIGURES)/papers.json
	bin/bench -jalon $(BIN) -rounds $(PAPER_ROUNDS) -gdb -figures $(FIGURES)/gdb.json
	bin/bench-kernel -jalon $(BIN) -rounds $(PAPER_ROUNDS) -figures $(FIGURES)/kernel.json
	$(GO) test -run '^$$' -bench Guest -benchtime 1x -timeout 60m -v ./bench/kernel -args -guest.count -guest.rounds=1 -guest.figures=$(CURDIR)/$(FIGURES)/guest.json
	$(GO) run ./bench/papers -figures $(FIGURES) -o docs/paper-tables.md

# A change must pass this and the tests before it is committed.
check:
	@test -z "$$(gofmt -l *.go cmd internal bench test)" || { gofmt -l *.go cmd internal bench test; exit 1; }
	$(GO) vet ./...
	GOARCH=arm64 $(GO) vet ./...
	GOARCH=arm64 $(GO) build ./...
	$(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 run

# Generates the pages that are made from tables.
.PHONY: generate
generate:
	$(GO) test ./internal/sema ./internal/probe ./internal/script/words -run TestReference -update

# Runs each fuzz target for a minute.
fuzz:
	@scripts/fuzz.sh 60s

clean:
	rm -rf bin dist

# The long form of the differential and random tests: more than a million programs, with random seeds.
# JALON_SEED=N, which a failed test prints, repeats a run; JALON_SEED=random works without the long form too.
.PHONY: test-full
test-full:
	@scripts/deps.sh test
	@JALON_FULL=1 JALON_AMD64_RUNS=4000000 JALON_AX_RUNS=200000 SEMA_EXPRS=20000 GO=$(GO) scripts/test.sh -count=1 -timeout 120m ./...

# Long runs, for hours, that try to harm traced programs: existing programs traced at every
# instruction, round by round; programs of java, node, Go and Rust with globs that match
# every function; small programs that fork, exec, load libraries and end in every way; other
# tracers' uprobes; attaching while threads start and end; one process traced thousands of times for
# a moment; thousands of kills of jalon and of the traced program. At the end one table of counts is printed. test/torture describes how
# to run a part. `make test` runs short forms, one part.
.PHONY: torture
torture:
	@scripts/deps.sh test
	@scripts/deps.sh torture
	@GO=$(GO) scripts/torture.sh

# Values beside GDB's at random places of programs that were not written for jalon: sqlite, lua, zstd, zlib, jq and
# bzip2 of gcc and clang at -O2 and -O3, ninja, snappy, leveldb, a program of Rust and one of Go. PLACES: of each build.
# At the end there is a table of pairs (place, expression): the same value, GDB's only, another, jalon's only. `make
# test` compares programs of its own (TestOracleValues, TestCallers).
.PHONY: fidelity
fidelity:
	@scripts/deps.sh test
	@scripts/oracle-real.sh -m -n $(or $(PLACES),1000) lua bzip2 minigzip zstd jq sqlite ninja snappy leveldb regex gofmt

# 100,000 stacks of programs of gcc, clang, Go and Rust, at instructions where a timer stops them, beside GDB's frames
# (15 minutes). `make test` compares 400.
.PHONY: test-stacks
test-stacks:
	@scripts/deps.sh test
	JALON_FULL=1 $(GO) test -count=1 -timeout 60m -v -run TestStacksAsGDB ./internal/image

# The kernel engine on arm64: tests in a guest with Debian's kernel 6.12, emulated (10 minutes). Not part of `make test`: QEMU, a compiler and
# a GDB for arm64 are needed.
.PHONY: test-arm64
test-arm64:
	@scripts/deps.sh test
	@scripts/deps.sh test-arm64
	JALON_GUEST_ARCH=arm64 GO=$(GO) scripts/test.sh -count=1 -timeout 60m -run 'TestGuests|TestGDB' ./internal/bpf ./test/kernelguest

# Tests that need the DWARF of a whole kernel: a download of about 300 MB, 600 MB on
# disk (in the cache of scripts/kernel.sh), so not part of `make test`.
.PHONY: test-vmlinux
test-vmlinux:
	@scripts/deps.sh test
	@vars=$$(scripts/kernel.sh debug 6.1) && env $$vars $(GO) test -count=1 -timeout 60m -run Vmlinux ./...

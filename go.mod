module github.com/jalon-trace/jalon

go 1.26.0

require (
	github.com/alecthomas/kong v1.17.0 // indirect
	github.com/cilium/ebpf v0.22.0 // indirect
	github.com/ianlancetaylor/demangle v0.0.0-20260724033716-83e58baca724 // indirect
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	golang.org/x/arch v0.32.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)

module github.com/jalon-trace/jalon

go 1.26.0

require (
	github.com/alecthomas/kong v1.17.0
	github.com/cilium/ebpf v0.22.0
	github.com/ianlancetaylor/demangle v0.0.0-20260724033716-83e58baca724
	github.com/klauspost/compress v1.20.3
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	golang.org/x/sys v0.49.0
)

require (
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	golang.org/x/text v0.14.0 // indirect
)

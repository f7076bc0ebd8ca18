package main

import (
	"slices"
	"strings"
	"testing"
)

func TestFlagsFirst(t *testing.T) {
	var c cli
	parser, err := newParser(&c, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ in, want string }{
		{"trace f -c i g", "trace -c i f g"},
		{"trace f -n10 g -q h", "trace -n10 -q f g h"},
		{"trace f -qn 10 g", "trace -qn 10 f g"},
		{"trace f --collect=i g", "trace --collect=i f g"},
		{"trace f --collect i g -p 12", "trace --collect i -p 12 f g"},
		{"list ./t --tactics work", "list --tactics ./t work"},
		{"list -p 12 work", "list -p 12 work"},
		{"trace f -c", "trace f -c"},
		{"trace f -c -rc g", "trace --collect=-rc f g"},
		{"trace f --collect -1 -q", "trace --collect=-1 -q f"},
		{"trace - f", "trace - f"},
		{"--help", "--help"},
		{"nonsense a -b c", "nonsense -b a c"},
		{"trace f --count a,b -- prog", "trace --count --by=a,b -- f prog"},
		{"trace --count f", "trace --count f"},
		{"trace f --count --by a", "trace --count --by a f"},
		{"trace f --count g --by a", "trace --count --by a f g"},
		{"trace f --bogus g", "trace --bogus f g"},
	} {
		got := flagsFirst(parser.Model, strings.Fields(tt.in))
		if !slices.Equal(got, strings.Fields(tt.want)) {
			t.Errorf("%s: %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestTraceWithoutGoroutines(t *testing.T) {
	got := trace([]byte("goroutine 12 [running]:\nmain.f()\n\tf.go:3\ncreated by main.g in goroutine 1\n\tf.go:9\n"))
	if string(got) != "main.f()\n\tf.go:3\ncreated by main.g\n\tf.go:9\n" {
		t.Errorf("%q", got)
	}
}

func TestSizes(t *testing.T) {
	for in, want := range map[string]int{"1": 1, "4k": 4 << 10, "4M": 4 << 20, "1G": 1 << 30} {
		if n, err := parseSize(in, 1<<30); err != nil || n != want {
			t.Errorf("%s: %d, %v", in, n, err)
		}
	}
	for _, in := range []string{"", "0", "-1", "2G", "1T", "x", "k", "99999999999999999999"} {
		if n, err := parseSize(in, 1<<30); err == nil {
			t.Errorf("%q: %d", in, n)
		}
	}
}

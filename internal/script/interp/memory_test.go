package interp

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
)

// fakeKernel is a kernel of one page of memory at fakeBase; the task is at its start, and a string at its end.
type fakeKernel struct {
	page    [pageSize]byte
	printed []string
}

const fakeBase = 0xffff888000001000

func newFakeKernel() *fakeKernel {
	k := &fakeKernel{}
	le := binary.LittleEndian
	le.PutUint32(k.page[0:], 42)          // pid
	le.PutUint64(k.page[8:], fakeBase+64) // next
	le.PutUint32(k.page[16:], 0b101_0110) // a:2, b:4
	copy(k.page[17:], "first\x00rest")    // name
	le.PutUint32(k.page[64:], 0xffffffff) // pid of the next: -1
	le.PutUint64(k.page[64+8:], 0x10)     // whose next is not readable
	copy(k.page[64+17:], "second")        // name
	le.PutUint64(k.page[128:], fakeBase+64+17)
	le.PutUint64(k.page[136:], fakeBase+17) // an array of pointers that ends with NULL
	copy(k.page[pageSize-5:], "tail")       // ends at the end of the page
	return k
}

func (k *fakeKernel) Task() (uint64, error)                { return fakeBase, nil }
func (k *fakeKernel) Jiffies() (uint64, error)             { return 7, nil }
func (k *fakeKernel) Print(text string) error              { k.printed = append(k.printed, text); return nil }
func (k *fakeKernel) Offset(string, string) (int64, error) { return 8, nil }

func (k *fakeKernel) Read(addr uint64, n int) ([]byte, bool, error) {
	if addr < fakeBase || addr+uint64(n) > fakeBase+pageSize {
		return nil, false, nil
	}
	return k.page[addr-fakeBase : addr-fakeBase+uint64(n)], true, nil
}

func (k *fakeKernel) Symbol(name string) (uint64, error) {
	if name == "tail" {
		return fakeBase + pageSize - 5, nil
	}
	return 0, errors.New("the kernel has no symbol \"" + name + "\"")
}

func (k *fakeKernel) PerCPU(_ string, cpu uint64) (uint64, error) { return fakeBase + 64*cpu, nil }

// TestMemory: probes that run in jalon itself read the kernel, and their own variables by address.
func TestMemory(t *testing.T) {
	const task = "struct task { int pid; struct task *next; unsigned a:2; unsigned b:4; char name[12]; };\n"
	for src, want := range map[string]string{
		`$t = (struct task *)kptr(0xffff888000001000); print(($t.pid, $t.next.pid, $t.a, $t.b, $t.name, $t.name[1], $t.next.name));`:     "(42, -1, 2, 5, first, 105, second)\n",
		`$t = (struct task *)kptr(0xffff888000001000); $n = 0; while ($t.name[0] != 0 && $n < 9) { @[$n] = $t.pid; $t = $t.next; $n++ }`: "warning: this could not be read (unreadable address 0x21); the value is 0\n",
		`$t = *(struct task *)kptr(0xffff888000001000); print($t.name); print($t.a); print(sizeof($t))`:                                  "first\n2\n32\n",
		`print(str(kaddr("tail"))); print(buf(kaddr("tail"), 3)); print(strlen((char *)kaddr("tail")))`:                                  "tail\ntai\n4\n",
		`print(str(kaddr("tail"), 3))`: "ta\n",
		`join((char **)kptr(0xffff888000001080)); join((char **)kptr(0xffff888000001088), "-")`: "second first\nfirst\n",
		`join((char **)0)`:     "warning: this could not be read (unreadable address 0x0); the value is 0\n",
		`print(kaddr("none"))`: "the kernel has no symbol \"none\"",
		`print((percpu_kaddr("x", 1) - percpu_kaddr("x", 0), jiffies)); debugf("%d", jiffies);`:                "(64, 7)\n",
		`$a = 5; $p = &$a; $a = 6; print(*$p); $q = (int8 *)&$a; print(*$q);`:                                  "6\n6\n",
		`$a = (1, "hello", (uint16)2); print(*(&$a)); $s = "xyz"; $c = (int8 *)&$s; print(*($c + 2));`:         "(1, hello, 2)\n122\n",
		`@m = 9; $p = &@m; print(*$p); @m = 10; print(*$p)`:                                                    "9\n10\n",
		`$i = 0; while ($i < 2) { $i++; { let $x = $i; @p[$i] = &$x; } } print(@p[1] == @p[2]); print(*@p[1])`: "false\n1\n",
		`$x = "ab"; $p = (int64 *)&$x; print(*($p + 100))`:                                                     "warning: this could not be read (it is not in a variable); the value is 0\n",
		`print(*(int8 *)5)`: "warning: this could not be read (unreadable address 0x5); the value is 0\n",
	} {
		s, err := script.Parse("t", task+"begin { "+src+" }")
		if err != nil {
			t.Fatal(err)
		}
		p, err := check.Check(s, check.Options{})
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if err := Refuse(p, nil, true); err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		var b strings.Builder
		k := newFakeKernel()
		m := New(p, Options{Out: &b, Err: &b, Now: time.Now, Kernel: k})
		if err := m.Loop(context.Background(), context.Background(), nil, func() {}); err != nil {
			b.WriteString(err.Error())
		}
		if got := b.String(); !strings.HasPrefix(got, want) && !strings.Contains(got, "error: "+want) {
			t.Errorf("%s: got\n%s\nwant\n%s", src, got, want)
		}
		if strings.Contains(src, "debugf") && (len(k.printed) != 1 || k.printed[0] != "7") {
			t.Errorf("%s: printed %q", src, k.printed)
		}
	}
}

// TestMemoryAfterProbe: an address of a variable that has ended reads nothing, whatever other variables there are.
func TestMemoryAfterProbe(t *testing.T) {
	s, err := script.Parse("t", `begin { $a = 5; @p = &$a; } end { $b = 7; $q = &$b; print(*@p); print(*$q); }`)
	if err != nil {
		t.Fatal(err)
	}
	p, err := check.Check(s, check.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := New(p, Options{Out: &b, Err: &b, Now: time.Now, Kernel: newFakeKernel()}).Loop(context.Background(), context.Background(), nil, func() {}); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.Contains(got, "not in a variable") || !strings.HasSuffix(got, "0\n7\n") {
		t.Errorf("%s", got)
	}
}

// TestUnsignedSeries: values of a time series that are not signed.
func TestUnsignedSeries(t *testing.T) {
	if got := output(t, `begin { @ = tseries((uint64)0xffffffffffffffff, 1s, 2); @s = tseries(-1, 1s, 2, "avg"); @a = tseries((uint64)0xfffffffffffffffe, 1s, 2, "avg") }`, true); !strings.Contains(got, `"@": [{"interval_start":"2026-11-23 05:06:07.000000000","value":"18446744073709551615"}]`) ||
		!strings.Contains(got, `"value":-1}`) || !strings.Contains(got, `"value":"18446744073709551614"}`) {
		t.Errorf("%s", got)
	}
}

// TestTimeMap: tests of scripts set the time of time series by a map.
func TestTimeMap(t *testing.T) {
	s, err := script.Parse("t", `begin { @t = (uint64)1000000000; @ = tseries(1, 1s, 5, "min"); @t = 3000000000; @ = tseries(2, 1s, 5, "min"); }`)
	if err != nil {
		t.Fatal(err)
	}
	p, err := check.Check(s, check.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	m := New(p, Options{Out: &b, Err: &b, Now: time.Now, TimeMap: "@t", JSON: true})
	if err := m.Loop(context.Background(), context.Background(), nil, func() {}); err != nil {
		t.Fatal(err)
	}
	m.PrintMaps()
	if got := b.String(); !strings.Contains(got, ":01.000000000\",\"value\":1") || !strings.Contains(got, ":03.000000000\",\"value\":2") {
		t.Errorf("%s", got)
	}
}

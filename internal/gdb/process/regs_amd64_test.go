package process

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/test/testkit"
)

var everything = rsp.CPU{AVX: true, AVX512: true, PKeys: true}

// intelLayout is that of a processor with MPX; AMD's have no room for it.
var intelLayout = xsaveLayout{
	xX87: {0, 160}, xSSE: {160, 256}, xYmmHi: {576, 256}, 3: {960, 64}, 4: {1024, 64},
	xMask: {1088, 64}, xZmmHi: {1152, 512}, xHi16: {1664, 1024}, xPKRU: {2688, 8},
}

// craftedArea is an area of all components with random contents.
func craftedArea(r *rand.Rand, inUse uint64) []byte {
	a := make([]byte, 2696)
	r.Read(a)
	binary.LittleEndian.PutUint32(a[xMXCSRMask:], 0xffff)
	binary.LittleEndian.PutUint32(a[xMXCSR:], r.Uint32()&0xffff)
	binary.LittleEndian.PutUint64(a[xSoftware:], 0x2e7)
	clear(a[xHeader:xLegacy])
	binary.LittleEndian.PutUint64(a[xHeader:], inUse)
	return a
}

func value(t *testing.T, f *registerFile, regs rsp.Registers, name string) []byte {
	t.Helper()
	for _, r := range f.target.Registers {
		if r.Name == name {
			return regs.Data[r.Offset : r.Offset+r.Bits/8]
		}
	}
	t.Fatalf("no register %s", name)
	return nil
}

// Components that are not in use have their initial values, whatever their bytes.
func TestInitialState(t *testing.T) {
	f := newRegisterFile(rsp.TargetX86Linux(everything), intelLayout)
	got := f.Encode(&process.Regs{}, craftedArea(rand.New(rand.NewSource(testkit.Seed(t, 1))), 0))
	if got.Missing != nil {
		t.Error("registers are missing")
	}
	for _, r := range f.target.Registers {
		want := map[string]uint64{"fctrl": 0x37f, "ftag": 0xffff, "mxcsr": 0x1f80}[r.Name]
		v := value(t, f, got, r.Name)
		if r.Name != "pkru" && (low(v[:min(8, len(v))]) != want || len(v) > 8 && !bytes.Equal(v[8:], make([]byte, len(v)-8))) {
			t.Errorf("%s is %x", r.Name, v)
		}
	}
}

// What is read is written back without a change of any byte.
func TestWriteBack(t *testing.T) {
	f := newRegisterFile(rsp.TargetX86Linux(everything), intelLayout)
	r := rand.New(rand.NewSource(testkit.Seed(t, 2)))
	for range 300 {
		area := craftedArea(r, r.Uint64()&0x2e7)
		regs := process.Regs{PtraceRegs: unix.PtraceRegs{Rax: r.Uint64(), Cs: r.Uint64(), Eflags: r.Uint64(), Fs_base: r.Uint64()}}
		wantRegs, want := regs, bytes.Clone(area)
		if err := f.Decode(f.Encode(&regs, area).Data, &regs, area); err != nil {
			t.Fatal(err)
		}
		if regs != wantRegs || !bytes.Equal(area, want) {
			t.Fatal("changed")
		}
	}
}

// settable masks the random value of a register to what it can hold.
func settable(name string, data []byte) {
	switch name {
	case "fctrl", "fstat", "fiseg", "foseg", "mxcsr":
		clear(data[2:])
	case "fop":
		clear(data[2:])
		data[1] &= 7
	}
}

// One register is the bytes that Encode has of it.
func TestGet(t *testing.T) {
	f := newRegisterFile(rsp.TargetX86Linux(everything), intelLayout)
	r := rand.New(rand.NewSource(testkit.Seed(t, 9)))
	for range 20 {
		regs, area := process.Regs{PtraceRegs: unix.PtraceRegs{Rip: r.Uint64(), Ds: r.Uint64()}}, craftedArea(r, r.Uint64()&0x2e7)
		if r.Intn(4) == 0 {
			area = nil
		}
		want := f.Encode(&regs, area)
		for n, reg := range f.target.Registers {
			got := f.Get(n, &regs, area)
			if missing := want.Missing != nil && want.Missing[reg.Offset]; missing != (got == nil) || got != nil && !bytes.Equal(got, want.Data[reg.Offset:reg.Offset+reg.Bits/8]) {
				t.Fatalf("%s: %x", reg.Name, got)
			}
		}
	}
	if f.Get(-1, nil, nil) != nil || f.Get(len(f.slots), nil, nil) != nil {
		t.Error("a register that the target has not")
	}
}

// Each register that is set reads back, and no other changes.
func TestSetOne(t *testing.T) {
	f := newRegisterFile(rsp.TargetX86Linux(everything), intelLayout)
	r := rand.New(rand.NewSource(testkit.Seed(t, 3)))
	for range 20 {
		for n, reg := range f.target.Registers {
			if reg.Name == "ftag" {
				continue // see TestTags
			}
			regs, area := process.Regs{}, craftedArea(r, r.Uint64()&0x2e7)
			want := f.Encode(&regs, area)
			v := make([]byte, reg.Bits/8)
			r.Read(v)
			settable(reg.Name, v)
			copy(want.Data[reg.Offset:], v)
			if err := f.Set(n, v, &regs, area); err != nil {
				t.Fatal(err)
			}
			got := f.Encode(&regs, area)
			if reg.Name[:2] == "st" || reg.Name == "fstat" {
				copy(value(t, f, want, "ftag"), value(t, f, got, "ftag")) // follows from them
			}
			if !bytes.Equal(got.Data, want.Data) {
				t.Fatalf("setting %s to %x:\n%x\nwant\n%x", reg.Name, v, got.Data, want.Data)
			}
		}
	}
}

func TestTags(t *testing.T) {
	f := newRegisterFile(rsp.TargetX86Linux(rsp.CPU{}), intelLayout)
	area := craftedArea(rand.New(rand.NewSource(testkit.Seed(t, 4))), 1)
	clear(area[xST:xXMM])
	set := func(i int, exponent uint16, significand uint64) {
		binary.LittleEndian.PutUint64(area[xST+16*i:], significand)
		binary.LittleEndian.PutUint16(area[xST+16*i+8:], exponent)
	}
	set(0, 0x3fff, 1<<63) // 1
	set(1, 0x8000, 0)     // -0
	set(2, 0x7fff, 1<<63) // infinity
	set(3, 0, 1)          // denormal
	set(4, 0x3fff, 1)     // unnormal
	binary.LittleEndian.PutUint16(area[xFSW:], 6<<11)
	area[xFTW] = 0b11000111 // physical 6, 7, 0, 1, 2: st0-4
	got := low(value(t, f, f.Encode(&process.Regs{}, area), "ftag"))
	want := uint64(0b01_00_11_11_11_10_10_10) // zero, valid, three empty, three special
	if got != want {
		t.Errorf("ftag %016b, want %016b", got, want)
	}
	for n, r := range f.target.Registers {
		if r.Name == "ftag" {
			if err := f.Set(n, []byte{0xfc, 0xff, 0, 0}, &process.Regs{}, area); err != nil || area[xFTW] != 1 {
				t.Errorf("%v, abridged tag %#b", err, area[xFTW])
			}
		}
	}
}

func TestRegisterErrors(t *testing.T) {
	f := newRegisterFile(rsp.TargetX86Linux(everything), intelLayout)
	number := map[string]int{}
	for n, r := range f.target.Registers {
		number[r.Name] = n
	}
	area := craftedArea(rand.New(rand.NewSource(testkit.Seed(t, 5))), 0)
	var regs process.Regs
	for name, err := range map[string]error{
		"this target has no register 500":                  f.Set(500, nil, &regs, area),
		"this target has no register -1":                   f.Set(-1, nil, &regs, area),
		"7 bytes for register rax of 8":                    f.Set(number["rax"], make([]byte, 7), &regs, area),
		"mxcsr: this processor does not have bits 0x10000": f.Set(number["mxcsr"], []byte{0, 0, 1, 0}, &regs, area),
		"register xmm0 is not available":                   f.Set(number["xmm0"], make([]byte, 16), &regs, nil),
		"3 bytes of registers; this target has 2420":       f.Decode(make([]byte, 3), &regs, area),
	} {
		if err == nil || err.Error() != name {
			t.Errorf("error %v, want %s", err, name)
		}
	}
	// Without an area there are the general registers.
	got := f.Encode(&process.Regs{PtraceRegs: unix.PtraceRegs{Rax: 5}}, nil)
	if got.Missing[0] || !got.Missing[len(got.Missing)-1] {
		t.Error("wrong registers are missing")
	}
	if err := f.Decode(got.Data, &regs, nil); err != nil || regs.Rax != 5 {
		t.Error(err, regs.Rax)
	}
}

// A PKRU that the header does not mark is not lost by writing another register.
func TestKeysStay(t *testing.T) {
	f := newRegisterFile(rsp.TargetX86Linux(everything), intelLayout)
	area := craftedArea(rand.New(rand.NewSource(testkit.Seed(t, 6))), 0)
	a := xsaveArea(area)
	a.use(&f.layout, xSSE)
	if !a.used(xSSE) || a.inUse()>>xPKRU&1 == 0 {
		t.Errorf("in use: %#x", a.inUse())
	}
}

func FuzzDecode(f *testing.F) {
	file := newRegisterFile(rsp.TargetX86Linux(everything), intelLayout)
	f.Add(make([]byte, file.target.Size), craftedArea(rand.New(rand.NewSource(7)), 0))
	f.Add([]byte{1}, []byte{2})
	f.Fuzz(func(t *testing.T, data, area []byte) {
		var regs process.Regs
		for n, r := range file.target.Registers {
			_ = file.Set(n, data[:min(len(data), r.Bits/8)], &regs, area)
		}
		if file.Decode(data, &regs, area) == nil {
			file.Encode(&regs, area)
		}
	})
}

// cpuOf says which register sets area has.
func cpuOf(area []byte, l *xsaveLayout) rsp.CPU {
	a := xsaveArea(area)
	has := func(states ...int) bool {
		for _, i := range states {
			if a.component(l, i) == nil {
				return false
			}
		}
		return true
	}
	cpu := hostCPU()
	cpu.AVX = cpu.AVX && has(xYmmHi)
	cpu.AVX512 = cpu.AVX512 && cpu.AVX && has(xMask, xZmmHi, xHi16)
	cpu.PKeys = cpu.PKeys && has(xPKRU)
	return cpu
}

// gdbRegisters is what native GDB shows of a process. Each value is named by the
// command that prints it.
func gdbRegisters(t *testing.T, pid int, cpu rsp.CPU) map[string]string {
	var commands []string
	for _, name := range oracleNames(cpu) {
		commands = append(commands, "echo "+name+" =", "output/x "+name, "echo \\n")
	}
	commands = append(commands, "info float")
	out := testkit.GDB(t, []string{"-p", fmt.Sprint(pid)}, commands...)
	values := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(\$\S+) = ?(.*)$`).FindAllStringSubmatch(out, -1) {
		values[m[1]] = m[2]
	}
	// `R7: Valid   0x3fff8000000000000000 +1`: output/x of a float shows its integer part.
	for _, m := range regexp.MustCompile(`(?m)^..?.?R(\d): \w+\s+0x([0-9a-f]{20})`).FindAllStringSubmatch(out, -1) {
		values["R"+m[1]] = m[2]
	}
	return values
}

func oracleNames(cpu rsp.CPU) []string {
	names := strings.Fields("$rax $rbx $rcx $rdx $rsi $rdi $rbp $rsp $r8 $r9 $r10 $r11 $r12 $r13 $r14 $r15 $rip $eflags " +
		"$cs $ss $ds $es $fs $gs $fctrl $fstat $ftag $fiseg $fioff $foseg $fooff $fop $mxcsr $fs_base $gs_base")
	add := func(format string, n int) {
		for i := range n {
			names = append(names, fmt.Sprintf(format, i))
		}
	}
	add("$xmm%d.v2_int64", 16)
	if cpu.AVX {
		add("$ymm%d.v4_int64", 16)
	}
	if cpu.AVX512 && hostXSAVE()[xMask].offset == intelLayout[xMask].offset {
		// GDB before version 14 looks for them where Intel's processors have them.
		add("$zmm%d.v8_int64", 32)
		add("$k%d", 8)
	}
	if cpu.PKeys && hostXSAVE()[xPKRU].offset == intelLayout[xPKRU].offset {
		names = append(names, "$pkru")
	}
	return names
}

// ours writes a value as GDB's output/x does: an integer, or a vector of 64-bit words.
func ours(b []byte, vector bool) string {
	if !vector {
		return fmt.Sprintf("%#x", low(b))
	}
	var words []string
	for ; len(b) > 0; b = b[8:] {
		words = append(words, fmt.Sprintf("%#x", low(b[:8])))
	}
	return "{" + strings.Join(words, ", ") + "}"
}

func compareWithGDB(t *testing.T, f *registerFile, cpu rsp.CPU, regs rsp.Registers, want map[string]string) {
	t.Helper()
	if len(want) < len(oracleNames(cpu)) {
		t.Fatalf("GDB shows only %d values: %v", len(want), want)
	}
	for _, name := range oracleNames(cpu) {
		plain, _, vector := strings.Cut(name[1:], ".")
		b := bytes.Clone(value(t, f, regs, map[bool]string{false: plain, true: "xmm" + strings.TrimLeft(plain, "xyzm")}[vector]))
		if vector && plain[0] != 'x' {
			n := strings.TrimLeft(plain, "xyzm")
			b = append(b, value(t, f, regs, "ymm"+n+"h")...)
			if plain[0] == 'z' {
				b = append(b, value(t, f, regs, "zmm"+n+"h")...)
			}
		}
		if got := ours(b, vector); got != want[name] {
			t.Errorf("%s: %s, GDB shows %s", name, got, want[name])
		}
	}
	top := int(low(value(t, f, regs, "fstat")) >> 11 & 7)
	for i := range 8 {
		st := value(t, f, regs, fmt.Sprintf("st%d", i))
		got := fmt.Sprintf("%04x%016x", low(st[8:]), low(st[:8]))
		if w := want[fmt.Sprintf("R%d", (top+i)&7)]; got != w {
			t.Errorf("st%d: %s, GDB shows %s", i, got, w)
		}
	}
}

// Registers of a real thread are those that native GDB shows, before and after we
// set all of them.
func TestRegistersAgainstGDB(t *testing.T) {
	layout := hostXSAVE()
	variants := [][]string{
		{},
		{"-DWITH_X87", "-DWITH_SSE"},
		{"-DWITH_X87", "-DWITH_SSE", "-DWITH_AVX", "-DWITH_AVX512"},
	}
	for _, flags := range variants {
		t.Run(strings.Join(flags, ""), func(t *testing.T) {
			c := traced(t, compile(t, "spin.c", append(flags, "-no-pie")...))
			_, area := c.regs()
			cpu := cpuOf(area, &layout)
			if strings.Contains(strings.Join(flags, ""), "AVX512") && !cpu.AVX512 {
				t.Skip("this processor has no AVX-512")
			}
			f := newRegisterFile(rsp.TargetX86Linux(cpu), layout)
			c.run()
			regs, area := c.regs()
			first := f.Encode(&regs, area)
			if v := low(value(t, f, first, "rbx")); v != 0x1111111122222222 {
				t.Errorf("rbx %#x", v)
			}
			if slices.Contains(flags, "-DWITH_AVX512") {
				checkPattern(t, f, first)
			}
			// All that can be random.
			changed := rsp.Registers{Data: bytes.Clone(first.Data)}
			r := rand.New(rand.NewSource(testkit.Seed(t, 8)))
			for _, reg := range f.target.Registers {
				switch reg.Name {
				case "rip", "eflags", "cs", "ss", "ds", "es", "fs", "gs", "orig_rax", "ftag":
					continue
				case "fiseg", "fioff", "foseg", "fooff", "fop":
					continue // AMD's processors restore them only for a pending exception
				}
				v := changed.Data[reg.Offset : reg.Offset+reg.Bits/8]
				r.Read(v)
				settable(reg.Name, v)
				switch reg.Name {
				case "fs_base", "gs_base", "rsp":
					clear(v[5:])
				case "fctrl":
					copy(v, []byte{0x7f, 3}) // no exception is pending
				case "pkru":
					v[0] &^= 3 // key 0 is that of all memory which the program uses
				}
			}
			newRegs, newArea := regs, bytes.Clone(area)
			if err := f.Decode(changed.Data, &newRegs, newArea); err != nil {
				t.Fatal(err)
			}
			changed = f.Encode(&newRegs, newArea)

			c.detach()
			compareWithGDB(t, f, cpu, first, gdbRegisters(t, c.pid, cpu))
			c.attach()
			c.setRegs(newRegs, newArea)
			c.detach()
			compareWithGDB(t, f, cpu, changed, gdbRegisters(t, c.pid, cpu))
			c.attach()
			if cpu.AVX512 {
				compareWithDump(t, c, f, changed)
			}
		})
	}
}

// compareWithDump lets the program itself store its AVX-512 registers.
func compareWithDump(t *testing.T, c *child, f *registerFile, want rsp.Registers) {
	t.Helper()
	regs, _ := c.regs()
	regs.Rip = c.symbol("dump")
	if err := unix.PtraceSetRegs(c.pid, &regs.PtraceRegs); err != nil {
		t.Fatal(err)
	}
	c.run()
	stored := make([]byte, 32*64+8*8)
	if err := c.memory()(c.symbol("stored"), stored); err != nil {
		t.Fatal(err)
	}
	for i := range 32 {
		got := bytes.Clone(value(t, f, want, fmt.Sprintf("xmm%d", i)))
		got = append(got, value(t, f, want, fmt.Sprintf("ymm%dh", i))...)
		got = append(got, value(t, f, want, fmt.Sprintf("zmm%dh", i))...)
		if !bytes.Equal(got, stored[64*i:64*i+64]) {
			t.Errorf("zmm%d: %x, the program has %x", i, got, stored[64*i:64*i+64])
		}
	}
	for i := range 8 {
		if got := value(t, f, want, fmt.Sprintf("k%d", i)); !bytes.Equal(got, stored[2048+8*i:2048+8*i+8]) {
			t.Errorf("k%d: %x, the program has %x", i, got, stored[2048+8*i:2048+8*i+8])
		}
	}
}

// checkPattern looks for what spin.c loads into AVX-512 registers.
func checkPattern(t *testing.T, f *registerFile, regs rsp.Registers) {
	t.Helper()
	for _, i := range []int{2, 16, 31} {
		var want []byte
		for j := range 64 {
			want = append(want, byte(i*64+j*7+1))
		}
		got := bytes.Clone(value(t, f, regs, fmt.Sprintf("xmm%d", i)))
		got = append(got, value(t, f, regs, fmt.Sprintf("ymm%dh", i))...)
		got = append(got, value(t, f, regs, fmt.Sprintf("zmm%dh", i))...)
		if !bytes.Equal(got, want) {
			t.Errorf("zmm%d: %x, want %x", i, got, want)
		}
	}
	for name, want := range map[string]uint64{"k0": 1, "k4": 0x1122334455667788, "k7": 1<<64 - 1} {
		if got := low(value(t, f, regs, name)); got != want {
			t.Errorf("%s: %#x, want %#x", name, got, want)
		}
	}
}

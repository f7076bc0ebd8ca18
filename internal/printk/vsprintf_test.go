package printk

import (
	"encoding/binary"
	"encoding/hex"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
)

// testFields are the fields of the tables' records: a word, 64 bytes, two
// narrow integers, and dynamic arrays of both kinds.
func testFields(t testing.TB) []tracefs.Field {
	t.Helper()
	ev, err := tracefs.ParseFormat([]byte(`name: e
ID: 1
format:
	field:u64 n;	offset:8;	size:8;	signed:0;
	field:u8 b[64];	offset:16;	size:64;	signed:0;
	field:signed char c;	offset:80;	size:1;	signed:1;
	field:u16 h;	offset:82;	size:2;	signed:0;
	field:__data_loc char[] str;	offset:84;	size:4;	signed:0;
	field:__rel_loc u16[] rel;	offset:88;	size:4;	signed:0;
	field:void * p;	offset:96;	size:8;	signed:0;
	field:__data_loc cpumask_t mask;	offset:104;	size:4;	signed:0;

print fmt: ""
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	return ev.Fields
}

// testRecord has n and b as given, str "hello", rel {1, 0x200}, mask 0xb.
func testRecord(n uint64, b []byte) []byte {
	rec := make([]byte, 160)
	binary.LittleEndian.PutUint64(rec[8:], n)
	copy(rec[16:80], b)
	rec[80] = 0xfe
	binary.LittleEndian.PutUint16(rec[82:], 0xfffe)
	binary.LittleEndian.PutUint32(rec[84:], 6<<16|108)
	binary.LittleEndian.PutUint32(rec[88:], 4<<16|(114-92))
	binary.LittleEndian.PutUint32(rec[104:], 8<<16|120)
	copy(rec[108:], "hello\x00\x01\x00\x00\x02")
	rec[120] = 0xb
	return rec
}

func renderText(t testing.TB, printFmt string, rec []byte, r *Resolver) string {
	t.Helper()
	f, err := Parse(printFmt, testFields(t))
	if err != nil {
		t.Fatalf("%s: %v", printFmt, err)
	}
	return string(f.Render(nil, rec, r))
}

func TestNumbers(t *testing.T) {
	minus := func(n uint64) uint64 { return -n }
	for _, c := range []struct {
		fmt  string
		n    uint64
		want string
	}{
		{"%d", 42, "42"},
		{"%i", minus(42), "-42"},
		{"%u", 1 << 32, "0"},
		{"%u", minus(1), "4294967295"},
		{"%d", 1 << 31, "-2147483648"},
		{"%lld", 1 << 63, "-9223372036854775808"},
		{"%lu", minus(1), "18446744073709551615"},
		{"%Lu", minus(1), "18446744073709551615"},
		{"%zu", 1 << 40, "1099511627776"},
		{"%zd", minus(5), "-5"},
		{"%td", minus(5), "-5"},
		{"%hd", 0x18000, "-32768"},
		{"%hu", 0x18000, "32768"},
		{"%hhd", 0x180, "-128"},
		{"%hhu", 0x180, "128"},
		{"%x", 0xABC, "abc"},
		{"%X", 0xABC, "ABC"},
		{"%o", 8, "10"},
		{"%#x", 255, "0xff"},
		{"%#X", 255, "0XFF"},
		{"%#o", 8, "010"},
		{"%#o", 0, "0"},
		// The kernel writes the 0x of zero; C does not.
		{"%#x", 0, "0x0"},
		{"%5d|", 42, "   42|"},
		{"%-5d|", 42, "42   |"},
		{"%05d", 42, "00042"},
		{"%05d", minus(42), "-0042"},
		{"%-05d|", 42, "42   |"},
		{"%+d", 42, "+42"},
		{"% d", 42, " 42"},
		{"%+5d", 42, "  +42"},
		{"%.3d", 5, "005"},
		{"%6.3d|", 5, "   005|"},
		{"%-6.3d|", 5, "005   |"},
		// Zeros and a precision: the kernel pads with zeros all the same.
		{"%06.3d", 5, "000005"},
		{"%#010x", 255, "0x000000ff"},
		{"%#08x", 255, "0x0000ff"},
		{"%08lx", 255, "000000ff"},
		{"%010llu", 7, "0000000007"},
		{"%0x", 10, "a"},
		{"%2d", 100, "100"},
		{"%c", 'x', "x"},
		{"%3c|", 'x', "  x|"},
		{"%-3c|", 'x', "x  |"},
		{"100%%", 0, "100%"},
		{"%5", 0, "%5"},
		{"%y", 0, "%y"},
		{"%", 0, "%"},
		{"a%ld b", 3, "a3 b"},
	} {
		if got := renderText(t, `"`+c.fmt+`", REC->n`, testRecord(c.n, nil), nil); got != c.want {
			t.Errorf("%s of %#x: %q, want %q", c.fmt, c.n, got, c.want)
		}
	}
}

// TestPointers has the examples of Documentation/core-api/printk-formats.rst.
func TestPointers(t *testing.T) {
	bytes := "000102030405060708090a0b0c0d0e0f"
	for _, c := range []struct{ fmt, data, want string }{
		{"%pM", "000102030405", "00:01:02:03:04:05"},
		{"%pMR", "000102030405", "05:04:03:02:01:00"},
		{"%pMF", "000102030405", "00-01-02-03-04-05"},
		{"%pm", "000102030405", "000102030405"},
		{"%pmR", "000102030405", "050403020100"},
		{"%pI4", "01020304", "1.2.3.4"},
		{"%pi4", "01020304", "001.002.003.004"},
		{"%pI4b", "01020304", "1.2.3.4"},
		{"%pI4h", "01020304", "4.3.2.1"},
		{"%pI4l", "01020304", "4.3.2.1"},
		{"%pI4n", "01020304", "1.2.3.4"},
		{"%15pI4|", "01020304", "        1.2.3.4|"},
		{"%-10pI4|", "01020304", "1.2.3.4   |"},
		{"%pI6", "00010002000300040005000600070008", "0001:0002:0003:0004:0005:0006:0007:0008"},
		{"%pi6", "00010002000300040005000600070008", "00010002000300040005000600070008"},
		{"%pI6c", "00010002000300040005000600070008", "1:2:3:4:5:6:7:8"},
		{"%pI6c", "00000000000000000000000000000001", "::1"},
		{"%pI6c", "00000000000000000000000000000000", "::"},
		{"%pI6c", "fe800000000000000000000000000000", "fe80::"},
		{"%pI6c", "20010db8000000000001000000000001", "2001:db8::1:0:0:1"},
		{"%pI6c", "00010000000300040005000600070008", "1:0:3:4:5:6:7:8"},
		{"%pI6c", "00000000000000000000ffff01020304", "::ffff:1.2.3.4"},
		{"%pI6c", "fe8000000000000000005efe01020304", "fe80::5efe:1.2.3.4"},
		{"%pIS", "0200303901020304", "1.2.3.4"},
		{"%piS", "0200303901020304", "001.002.003.004"},
		{"%pISp", "0200303901020304", "1.2.3.4:12345"},
		{"%pISph", "0200303901020304", "4.3.2.1:12345"},
		{"%pISpc", "0a00303900000005" + "00010002000300040005000600070008" + "07000000", "[1:2:3:4:5:6:7:8]:12345"},
		{"%pISpfsc", "0a00303910000005" + "00000000000000000000000000000001" + "07000000", "[::1]:12345/5%7"},
		{"%pIS", "0a00303900000005" + "00010002000300040005000600070008" + "07000000", "0001:0002:0003:0004:0005:0006:0007:0008"},
		{"%pIS", "ffff", "(einval)"},
		{"%pUb", bytes, "00010203-0405-0607-0809-0a0b0c0d0e0f"},
		{"%pU", bytes, "00010203-0405-0607-0809-0a0b0c0d0e0f"},
		{"%pUB", bytes, "00010203-0405-0607-0809-0A0B0C0D0E0F"},
		{"%pUl", bytes, "03020100-0504-0706-0809-0a0b0c0d0e0f"},
		{"%pUL", bytes, "03020100-0504-0706-0809-0A0B0C0D0E0F"},
		{"%3ph", "000102", "00 01 02"},
		{"%3phC", "000102", "00:01:02"},
		{"%3phD", "000102", "00-01-02"},
		{"%3phN", "000102", "000102"},
		{"%ph", "07", "07"},
		{"%0ph", "07", "07"},
		{"%20pb", "0f0003", "300" + "0f"},
		{"%40pb", "0100000080", "80,00000001"},
		{"%8pbl", "6f", "0-3,5-6"},
		{"%33pbl", "0100000001", "0,32"},
		{"%pa", "efcdab8967452301", "0x0123456789abcdef"},
		{"%pad", "01", "0x0000000000000001"},
		{"%s", "616263", "abc"},
		{"%.2s|", "616263", "ab|"},
		{"%5s|", "616263", "  abc|"},
		{"%-5s|", "616263", "abc  |"},
		{"%-5.1s|", "616263", "a    |"},
		{"%p", "00", "(the address of recorded data)"},
		{"%d", "00", "(the address of recorded data)"},
		{"%pV", "00", "(va_format)"},
	} {
		data, err := hex.DecodeString(c.data)
		if err != nil {
			t.Fatal(err)
		}
		if got := renderText(t, `"`+c.fmt+`", REC->b`, testRecord(0, data), nil); got != c.want {
			t.Errorf("%s of %s: %q, want %q", c.fmt, c.data, got, c.want)
		}
	}
}

func TestAddresses(t *testing.T) {
	r := &Resolver{
		Symbol: func(addr uint64) (Symbol, bool) {
			switch {
			case addr >= 0xffffffff81000000 && addr < 0xffffffff81000100:
				return Symbol{Name: "vfs_read", Offset: addr - 0xffffffff81000000, Size: 0x100}, true
			case addr == 0xffffffffc0000010:
				return Symbol{Name: "init", Offset: 0x10, Size: 0x20, Module: "dummy"}, true
			}
			return Symbol{}, false
		},
		String: func(addr uint64) (string, bool) { return "Start", addr == 0xffffffff82000000 },
	}
	for _, c := range []struct {
		fmt  string
		n    uint64
		want string
	}{
		{"%pS", 0xffffffff81000010, "vfs_read+0x10/0x100"},
		{"%ps", 0xffffffff81000010, "vfs_read"},
		{"%pF", 0xffffffff81000010, "vfs_read+0x10/0x100"},
		{"%pf", 0xffffffff81000010, "vfs_read"},
		{"%pB", 0xffffffff81000010, "vfs_read+0x10/0x100"},
		{"%pB", 0xffffffff81000100, "vfs_read+0x100/0x100"},
		{"%pS", 0xffffffff81000100, "0xffffffff81000100"},
		{"%pSR", 0xffffffff81000000, "vfs_read+0x0/0x100"},
		{"%pS", 0xffffffffc0000010, "init+0x10/0x20 [dummy]"},
		{"%ps", 0xffffffffc0000010, "init [dummy]"},
		{"%ps", 0x7f0000001000, "0x7f0000001000"},
		{"%12ps|", 0xffffffff81000010, "    vfs_read|"},
		{"%p", 0xffff888012345678, "ffff888012345678"},
		{"%px", 0x1234, "0000000000001234"},
		{"%pK", 0, "0000000000000000"},
		{"%20p|", 0x1234, "                1234|"},
		{"%pe", ^uint64(0) - 13, "-EFAULT"},
		{"%pe", ^uint64(0) - 511, "-ERESTARTSYS"},
		{"%pe", 0x1000, "0000000000001000"},
		{"%pe", ^uint64(0) - 4000, "fffffffffffff05f"},
		{"%s", 0, "(null)"},
		{"%s", 5, "(efault)"},
		{"%s", 0xffffffff82000000, "Start"},
		{"%8s|", 0xffffffff82000000, "   Start|"},
		{"%s", 0xffffffff82000001, "(string at 0xffffffff82000001)"},
		{"%pI4", 0, "(null)"},
		{"%pI4", 0xffff888000000000, "(memory at 0xffff888000000000)"},
		{"%pd", 0xffff888000000000, "(dentry at 0xffff888000000000)"},
		{"%ptR", 0xffff888000000000, "(time at 0xffff888000000000)"},
		{"%pZ", 0x10, "0000000000000010"},
	} {
		if got := renderText(t, `"`+c.fmt+`", (void *)REC->n`, testRecord(c.n, nil), r); got != c.want {
			t.Errorf("%s of %#x: %q, want %q", c.fmt, c.n, got, c.want)
		}
	}
}

// TestSyscallText has the two forms that the kernel prints itself.
func TestSyscallText(t *testing.T) {
	fields := testFields(t)[:1]
	fields = append(fields, tracefs.Field{Name: "flags", Type: ctype.IntT, Offset: 16, Size: 8})
	enter := &tracefs.Event{System: "syscalls", Name: "sys_enter_open", Fields: fields}
	exit := &tracefs.Event{System: "syscalls", Name: "sys_exit_open", Fields: []tracefs.Field{{Name: "ret", Type: ctype.LongT, Offset: 8, Size: 8, Signed: true}}}
	rec := testRecord(0xffffff9c, []byte{9})
	for _, c := range []struct {
		ev   *tracefs.Event
		rec  []byte
		want string
	}{
		{enter, rec, "sys_open(n: 0xffffff9c, flags: 9)"},
		{enter, rec[:16], "sys_open(n: 0xffffff9c, flags: (beyond the record))"},
		{exit, testRecord(^uint64(0), nil), "sys_open -> 0xffffffffffffffff"},
		{exit, testRecord(3, nil), "sys_open -> 0x3"},
	} {
		f, err := forEvent(c.ev)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(f.Line(nil, c.rec, nil)); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

package rsp

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// randomFile is a trace file with its frames.
func randomFile(r *rand.Rand) (*TraceFile, []TraceFrame) {
	f := &TraceFile{RegisterSize: 1 + r.IntN(700)}
	f.Status = randomPacket(r, reflect.TypeFor[TraceStatus]()).(TraceStatus)
	for range r.IntN(4) {
		f.Variables = append(f.Variables, randomPacket(r, reflect.TypeFor[UploadedVariable]()).(UploadedVariable))
	}
	for range r.IntN(6) {
		f.Pieces = append(f.Pieces, randomPacket(r, reflect.TypeOf(uploads[r.IntN(len(uploads))])))
	}
	if r.IntN(2) == 0 {
		f.Target = TargetX86Linux(CPU{AVX: r.IntN(2) == 0}).XML()
	}
	var frames []TraceFrame
	for range r.IntN(5) {
		fr := TraceFrame{Tracepoint: uint16(1 + r.IntN(1000))}
		for range r.IntN(5) {
			switch r.IntN(3) {
			case 0:
				data := make([]byte, f.RegisterSize)
				for i := range data {
					data[i] = byte(r.Uint32())
				}
				fr.Blocks = append(fr.Blocks, Block{Kind: BlockRegisters, Data: data})
			case 1:
				fr.Blocks = append(fr.Blocks, Block{Kind: BlockMemory, Addr: r.Uint64(), Data: randomBytes(r, 1)})
			case 2:
				fr.Blocks = append(fr.Blocks, Block{Kind: BlockVariable, Number: r.Uint32(), Value: r.Int64()})
			}
		}
		frames = append(frames, fr)
	}
	return f, frames
}

func encodeFile(t *testing.T, f *TraceFile, frames []TraceFrame) []byte {
	t.Helper()
	out, err := f.Header()
	if err != nil {
		t.Fatal(err)
	}
	for _, fr := range frames {
		out = AppendFrame(out, fr)
	}
	return append(out, TraceFileEnd...)
}

func TestTraceFileRoundTrip(t *testing.T) {
	seed := uint64(testkit.Seed(t, 23))
	r := rand.New(rand.NewPCG(seed, seed))
	for i := range 500 {
		f, frames := randomFile(r)
		data := encodeFile(t, f, frames)
		gotFile, gotFrames, err := ParseTraceFile(data)
		if err != nil {
			t.Fatalf("seed %d, file %d: %v", seed, i, err)
		}
		if !reflect.DeepEqual(gotFile, f) || !reflect.DeepEqual(gotFrames, frames) {
			t.Fatalf("seed %d, file %d:\n%#v\n%#v", seed, i, gotFile, f)
		}
		// A file cut short gives the frames that are whole, or an error.
		cut := data[:r.IntN(len(data))]
		if _, got, err := ParseTraceFile(cut); err == nil && len(got) > len(frames) {
			t.Fatalf("seed %d, file %d: %d frames of %d", seed, i, len(got), len(frames))
		}
	}
}

func TestTraceFileLimits(t *testing.T) {
	long := UploadedSource{Number: 1, Addr: 0x1000, Kind: "cmd", Text: Text(strings.Repeat("collect x", 200))}
	if _, err := (&TraceFile{Pieces: []Packet{long}}).Header(); err == nil || !strings.Contains(err.Error(), "999") {
		t.Errorf("a line too long: %v", err)
	}
	text := ""
	f := &TraceFile{}
	for _, p := range SplitSource(long, 400) {
		if int(p.Start) != len(text) || int(p.Length) != len(long.Text) {
			t.Errorf("a piece at %d of %d", p.Start, p.Length)
		}
		text += string(p.Text)
		f.Pieces = append(f.Pieces, p)
	}
	if text != string(long.Text) {
		t.Error("the pieces are not the whole")
	}
	if _, err := f.Header(); err != nil {
		t.Error(err)
	}
	// A block has 16 bits for its length.
	big := TraceFrame{Tracepoint: 1, Blocks: []Block{{Kind: BlockMemory, Addr: 0x1000, Data: bytes.Repeat([]byte{7}, 100000)}}}
	frames, err := ParseFrames(AppendFrame(nil, big), 0)
	if err != nil || len(frames) != 1 || len(frames[0].Blocks) != 2 || frames[0].Blocks[1].Addr != 0x1000+65535 ||
		len(frames[0].Blocks[1].Data) != 100000-65535 {
		t.Errorf("%v", err)
	}
}

func FuzzTraceFile(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 5 {
		file, frames := randomFile(r)
		out, _ := file.Header()
		for _, fr := range frames {
			out = AppendFrame(out, fr)
		}
		f.Add(out)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, frames, err := ParseTraceFile(data)
		if err != nil {
			return
		}
		out, err := file.Header()
		if err != nil {
			return
		}
		for _, fr := range frames {
			out = AppendFrame(out, fr)
		}
		_, again, err := ParseTraceFile(out)
		if err != nil || len(again) != len(frames) {
			t.Fatalf("%q, written %q: %v", data, out, err)
		}
	})
}

// checkSavedFile: the file that GDB saved in the session is read, and written to the
// same bytes.
func checkSavedFile(t *testing.T, _ *recorder, out, dir string) {
	data, err := os.ReadFile(filepath.Join(dir, "out.tf"))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, frames, err := ParseTraceFile(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(frames) == 0 || !strings.Contains(out, fmt.Sprintf("Collected %d trace frames", len(frames))) {
		t.Errorf("%d frames; GDB says\n%.3000s", len(frames), out)
	}
	if f.Status.StopText != "enough } of it" || f.RegisterSize == 0 || len(f.Variables) == 0 || f.Target == nil {
		t.Errorf("status %+v, %d bytes of registers, %d variables", f.Status, f.RegisterSize, len(f.Variables))
	}
	got := encodeFile(t, f, frames)
	// GDB writes the status in an order of its own.
	gotHead, gotTail := cutStatus(t, got)
	wantHead, wantTail := cutStatus(t, data)
	if !bytes.Equal(gotHead, wantHead) || !bytes.Equal(gotTail, wantTail) {
		t.Errorf("the file comes back as\n%.3000q\nfrom\n%.3000q", got, data)
	}
}

// cutStatus takes the status line out.
func cutStatus(t *testing.T, data []byte) (before, after []byte) {
	t.Helper()
	before, rest, ok := bytes.Cut(data, []byte("\nstatus "))
	_, after, ok2 := bytes.Cut(rest, []byte("\n"))
	if !ok || !ok2 {
		t.Fatalf("no status line in %.300q", data)
	}
	return before, after
}

// symbols are the addresses of the program's symbols.
func symbols(t *testing.T, bin string) map[string]uint64 {
	t.Helper()
	f, err := elf.Open(bin)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]uint64{}
	for _, s := range syms {
		m[s.Name] = s.Value
	}
	return m
}

// TestOracleTargetTfile: GDB shows what our files hold, on machines with and without
// AVX.
func TestOracleTargetTfile(t *testing.T) {
	dir := t.TempDir()
	bin := build(t, dir, false)
	sym := symbols(t, bin)
	for i, cpu := range []CPU{{}, {AVX: true}, {AVX: true, AVX512: true, PKeys: true}} {
		target := TargetX86Linux(cpu)
		path := filepath.Join(dir, fmt.Sprintf("trace%d.tf", i))
		if err := os.WriteFile(path, exampleFile(t, target, sym), 0o600); err != nil {
			t.Fatal(err)
		}
		out := drive(t, strings.Join([]string{
			"target tfile " + path, "tstatus", "info tracepoints", "tfind 0", "print total", "print/x $rip",
			"print $r15", "print where", "print $st0", "tfind", "print $v", "print total", "tfind", "info tvariables", "",
		}, "\n"), bin)
		for _, want := range []string{
			"Trace stopped by a tstop command (done } here)",
			"Collected 2 trace frames",
			"Trace user is somebody",
			"in work at testdata/session.c:18",
			"trace only if i > 1", "collect total, $regs", "tracepoint already hit 2 times",
			"Found trace frame 0, tracepoint 1",
			"$1 = 4711",
			fmt.Sprintf("$2 = %#x", sym["work"]),
			"$3 = 15151515",
			"$4 = <unavailable>",
			"Found trace frame 1, tracepoint 1",
			"$6 = -5", "$7 = <unavailable>",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("cpu %+v: no %q in\n%s", cpu, want, out)
			}
		}
		if strings.Contains(out, "warning") {
			t.Errorf("cpu %+v: GDB warns:\n%s", cpu, out)
		}
	}
}

// exampleFile has a tracepoint at work and two frames.
func exampleFile(t *testing.T, target *Target, sym map[string]uint64) []byte {
	work := sym["work"]
	f := &TraceFile{
		RegisterSize: target.Size,
		Status: TraceStatus{
			Stop: StopRequested, StopText: "done } here", Frames: ptr(uint64(2)), Created: ptr(uint64(2)),
			Free: ptr(uint64(1000)), Size: ptr(uint64(2000)), User: ptr(Text("somebody")),
		},
		Variables: []UploadedVariable{{Number: 1, Value: 3, Name: "v"}},
		Pieces: []Packet{
			UploadedTracepoint{Number: 1, Addr: work, Enabled: true, Condition: Expr{0x22, 1, 0x27}},
			UploadedActions{1, work, []Action{{Kind: 'R', Mask: Bytes{0xff}}}},
			UploadedSource{1, work, "at", 0, 4, "work"},
			UploadedSource{1, work, "cond", 0, 5, "i > 1"},
			UploadedSource{1, work, "cmd", 0, 20, "collect total, $regs"},
			UploadedUsage{1, work, 2, 100},
		},
		Target: target.XML(),
	}
	regs := make([]byte, target.Size)
	for _, r := range target.Registers {
		switch r.Name {
		case "rip":
			binary.LittleEndian.PutUint64(regs[r.Offset:], work)
		case "r15":
			binary.LittleEndian.PutUint64(regs[r.Offset:], 15151515)
		}
	}
	total := binary.LittleEndian.AppendUint32(nil, 4711)
	return encodeFile(t, f, []TraceFrame{
		{1, []Block{{Kind: BlockRegisters, Data: regs}, {Kind: BlockMemory, Addr: sym["total"], Data: total}}},
		{1, []Block{{Kind: BlockVariable, Number: 1, Value: -5}}},
	})
}

package experiment

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"testing"
	"unsafe"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/rsp"
	"github.com/jalon-trace/jalon/test/testkit"
)

// model is the simplest thing that a trace buffer can be.
type model struct {
	size     int64
	circular bool
	frames   []modelFrame
	created  int
	selected int // counted from the start of the run; -1: none
	running  bool
	reason   string
	hits     map[int]int // by tracepoint
}

type modelFrame struct {
	number int
	pc     uint64
	raw    []byte
	held   int  // bytes of it in the buffer
	rip    bool // rip was collected
	static string
	blocks []rsp.Block
}

func (f *modelFrame) cost() int64 { return int64(f.held) + frameCost }

func (m *model) used() (n int64) {
	for i := range m.frames {
		n += m.frames[i].cost()
	}
	return n
}

// add is what happens at a hit of a tracepoint with that pass count.
func (m *model) add(f modelFrame, pass int) {
	if !m.running || m.reason != "" {
		return
	}
	m.hits[f.number]++
	for m.circular && len(m.frames) > 0 && f.cost() <= m.size && m.used()+f.cost() > m.size {
		m.frames = m.frames[1:]
	}
	if m.used()+f.cost() > m.size {
		m.reason = "tfull:0"
		return
	}
	m.frames = append(m.frames, f)
	m.created++
	if pass > 0 && m.hits[f.number] == pass {
		m.reason = fmt.Sprintf("tpasscount:%x", f.number)
	}
}

func (m *model) oldest() int { return m.created - len(m.frames) }

// find is QTFrame.
func (m *model) find(ok func(f *modelFrame) bool) string {
	from := 0
	if m.selected >= 0 {
		from = max(m.selected-m.oldest(), 0) + 1
	}
	for i := from; i < len(m.frames); i++ {
		if ok(&m.frames[i]) {
			return m.choose(i)
		}
	}
	return "F-1"
}

func (m *model) choose(i int) string {
	m.selected = m.oldest() + i
	return fmt.Sprintf("F%xT%x", i, m.frames[i].number)
}

// walk is a random walk through an experiment and its model.
type walk struct {
	*bench
	r     *rand.Rand
	m     model
	view  *modelFrame // of the selected frame, which may have been dropped
	count map[string]int

	layouts []*agentexpr.Layout
	records [][]byte
}

// makeLayouts makes those of different sets of actions.
func (w *walk) makeLayouts() {
	for _, actions := range []string{
		"", "R01", "R010003M0,10,8", "R010000", "M7,0,40", "X8,2c00022e00022927X8,2c00012e00012927",
		"XF,220522002200340100042564210027M7,0,4X8,2c00022e00022927",
	} {
		b := newBench(w.t)
		b.talk("QTDP:2:1000:E:0:0-\nQTDP:-2:1000:" + actions)
		lay, rec := record(w.t, &b.spec(2).Program)
		w.layouts, w.records = append(w.layouts, lay), append(w.records, rec)
	}
}

// TestModel does random things to an experiment and a model of it. JALON_EXP_STEPS
// sets how many.
func TestModel(t *testing.T) {
	steps, seed := 2500, testkit.Seed(t, 1)
	if n, err := strconv.Atoi(os.Getenv("JALON_EXP_STEPS")); err == nil {
		steps = n
	}
	t.Logf("seed %d", seed)
	w := &walk{bench: newBench(t), r: rand.New(rand.NewSource(seed)), count: map[string]int{}}
	w.m = model{size: DefaultBufferSize, selected: -1, hits: map[int]int{}}
	w.makeLayouts()
	w.talk("QTDP:1:1000:E:0:0\nQTDP:2:2000:E:1:0\nQTDP:3:1000:E:0:32")
	actions := []func(){w.hit, w.hit, w.hit, w.hit, w.look, w.look, w.read, w.settings, w.startStop, w.checkStatus}
	for range steps {
		actions[w.r.Intn(len(actions))]()
		w.invariants()
		if t.Failed() {
			t.Fatalf("after %v", w.count)
		}
	}
	t.Log(w.count)
	for _, k := range []string{"tfull:0", "tpasscount:3", "dropped", "found", "read", "several chunks", "view dropped"} {
		if w.count[k] == 0 {
			t.Errorf("%q never happened", k)
		}
	}
}

// hit queues some hits; both sides see them at the next question.
func (w *walk) hit() {
	for range 1 + w.r.Intn(30) {
		number := 1 + w.r.Intn(3)
		if w.r.Intn(4) > 0 {
			number = 1
		}
		h := Hit{Spec: w.spec(number), Time: w.next(), TID: number}
		f := modelFrame{number: number, pc: h.Spec.Addr}
		if number == 2 && w.r.Intn(2) == 0 {
			h.Step = true
			f.pc = uint64(w.r.Intn(2)) * 0x2001
			h.PC = f.pc
		}
		if w.r.Intn(3) > 0 {
			w.frame(&h, &f)
		} else {
			w.record(&h, &f)
		}
		if h.PC != 0 && !f.rip {
			f.held += 8
		}
		if w.r.Intn(5) == 0 {
			h.Static = fmt.Sprint("text ", w.r.Intn(1000))
			f.static = h.Static
			f.held += len(f.static) + 4
		}
		f.raw = rsp.AppendFrame(nil, rsp.TraceFrame{Tracepoint: uint16(number), Blocks: f.blocks})
		if !w.m.running {
			return
		}
		w.fake.queue = append(w.fake.queue, h)
		before := w.m.oldest()
		pass := 0
		if number == 3 {
			pass = 0x32
		}
		if h.Step {
			w.m.hits[number]--
			if w.m.reason != "" {
				w.m.hits[number]++
			}
		}
		w.m.add(f, pass)
		if w.m.oldest() > before {
			w.count["dropped"]++
		}
	}
}

// frame gives a hit a random frame.
func (w *walk) frame(h *Hit, f *modelFrame) {
	h.Frame = &agentexpr.Frame{}
	if w.r.Intn(3) == 0 {
		value := make([]byte, 8)
		w.r.Read(value)
		h.Frame.Regs = []agentexpr.RegValue{{Num: 3, Data: value}}
		w.registers(f, h.Frame.Regs)
		f.held += 8
	}
	for range w.r.Intn(3) {
		n := 1 + w.r.Intn(40)
		if w.r.Intn(20) == 0 {
			n = 1 + w.r.Intn(60_000)
		}
		data := make([]byte, n)
		w.r.Read(data)
		addr := uint64(0x8000 + w.r.Intn(64))
		h.Frame.Blocks = append(h.Frame.Blocks, agentexpr.Block{Addr: addr, Data: data})
		f.blocks = append(f.blocks, rsp.Block{Kind: rsp.BlockMemory, Addr: addr, Data: data})
		f.held += 1 + 8 + 2 + n
	}
}

// record gives a hit a record of a random layout, in which random bytes are others:
// the traced program can write to it.
func (w *walk) record(h *Hit, f *modelFrame) {
	k := w.r.Intn(len(w.layouts))
	h.Layout, h.Record = w.layouts[k], bytes.Clone(w.records[k])
	f.held = len(h.Record) - agentexpr.RecordHead
	for _, r := range h.Layout.Regs {
		if r.Num == w.rip {
			binary.LittleEndian.PutUint64(h.Record[r.Offset:], f.pc+uint64(w.r.Intn(2)))
		}
	}
	for range w.r.Intn(3) {
		if f.held > 0 {
			h.Record[agentexpr.RecordHead+w.r.Intn(f.held)] = byte(w.r.Intn(3))
		}
	}
	frame := h.Layout.Frame(h.Record)
	for _, r := range frame.Regs {
		if r.Num == w.rip {
			f.rip, f.pc = true, binary.LittleEndian.Uint64(r.Data)
		}
	}
	if len(frame.Regs) > 0 {
		w.registers(f, frame.Regs)
	}
	for _, b := range frame.Blocks {
		switch {
		case b.Kind == agentexpr.MemoryBlock && len(b.Data) > 0:
			f.blocks = append(f.blocks, rsp.Block{Kind: rsp.BlockMemory, Addr: b.Addr, Data: b.Data})
		case b.Kind == agentexpr.VarBlock && b.Now:
			f.blocks = append(f.blocks, rsp.Block{Kind: rsp.BlockVariable, Number: uint32(b.Var), Value: h.Time / 1000})
		case b.Kind == agentexpr.VarBlock:
			f.blocks = append(f.blocks, rsp.Block{Kind: rsp.BlockVariable, Number: uint32(b.Var), Value: int64(b.Value)})
		}
	}
}

// registers adds the R block, which always has the pc.
func (w *walk) registers(f *modelFrame, list []agentexpr.RegValue) {
	data := make([]byte, w.target().Size)
	binary.LittleEndian.PutUint64(data[w.ripOffset:], f.pc)
	for _, r := range list {
		copy(data[w.target().Registers[r.Num].Offset:], r.Data)
	}
	f.blocks = append(f.blocks, rsp.Block{Kind: rsp.BlockRegisters, Data: data})
}

func (w *walk) target() *rsp.Target { return w.opt.Target }

// drained is the model's side of Tick.
func (w *walk) drained() {
	if w.m.running && w.m.reason != "" {
		w.m.running = false
		w.count[w.m.reason]++
	}
}

func (w *walk) look() {
	var want, packet string
	w.drained()
	a, b := 0x0fff+w.r.Intn(3), 0x0fff+w.r.Intn(3)+w.r.Intn(2)*0x1000
	inside := func(f *modelFrame) bool { return uint64(a) <= f.pc && f.pc <= uint64(b) }
	switch w.r.Intn(6) {
	case 0:
		packet, want = "QTFrame:ffffffff", "OK"
		w.m.selected, w.view = -1, nil
	case 1:
		n := w.r.Intn(len(w.m.frames) + 2)
		packet, want = fmt.Sprintf("QTFrame:%x", n), "F-1"
		if n < len(w.m.frames) {
			want = w.m.choose(n)
		}
	case 2:
		n := 1 + w.r.Intn(4)
		packet, want = fmt.Sprintf("QTFrame:tdp:%x", n), w.m.find(func(f *modelFrame) bool { return f.number == n })
	case 3:
		packet, want = fmt.Sprintf("QTFrame:pc:%x", a), w.m.find(func(f *modelFrame) bool { return f.pc == uint64(a) })
	case 4:
		packet, want = fmt.Sprintf("QTFrame:range:%x:%x", a, b), w.m.find(inside)
	case 5:
		packet, want = fmt.Sprintf("QTFrame:outside:%x:%x", a, b), w.m.find(func(f *modelFrame) bool { return f.pc != 0 && !inside(f) })
	}
	w.talk(packet + " -> " + want)
	if want != "F-1" && want != "OK" {
		w.count["found"]++
		f := w.m.frames[w.m.selected-w.m.oldest()]
		w.view = &f
	}
	w.checkView()
}

// checkView compares what the selected frame holds.
func (w *walk) checkView() {
	if w.view == nil {
		if w.SelectedFrame() != -1 {
			w.t.Errorf("frame %d is selected", w.SelectedFrame())
		}
		return
	}
	if w.m.selected < w.m.oldest() {
		w.count["view dropped"]++
	}
	regs := w.FrameRegisters()
	rip := regs.Data[w.ripOffset : w.ripOffset+8]
	if known := !regs.Missing[w.ripOffset]; known != (w.view.pc != 0 || w.view.rip) || known && rip[0] != byte(w.view.pc) {
		w.t.Errorf("pc %x of a frame at %#x", rip, w.view.pc)
	}
	if data, _ := w.StaticData(); string(data) != w.view.static {
		w.t.Errorf("static data %q, want %q", data, w.view.static)
	}
	addr := uint64(0x8000 + w.r.Intn(100))
	var got [1]byte
	n := w.FrameMemory(addr, got[:])
	var want []byte
	for _, b := range w.view.blocks {
		if b.Kind == rsp.BlockMemory && addr >= b.Addr && addr-b.Addr < uint64(len(b.Data)) && want == nil {
			want = b.Data[addr-b.Addr:][:1]
		}
	}
	if !bytes.Equal(got[:n], want) {
		w.t.Errorf("memory at %#x: %x, want %x", addr, got[:n], want)
	}
}

// read fetches the whole buffer.
func (w *walk) read() {
	w.drained()
	var got []byte
	for again := 2; ; {
		reply := w.ask(fmt.Sprintf("qTBuffer:%x,%x", len(got), 1+w.r.Intn(maxRead)))
		if reply == "l" {
			break
		}
		part, err := hex.DecodeString(reply)
		if err != nil || len(part) == 0 {
			w.t.Fatalf("qTBuffer: %.100s", reply)
		}
		got = append(got, part...)
		if again > 0 && w.r.Intn(4) == 0 {
			again--
			got = got[:w.r.Intn(len(got)+1)]
		}
	}
	var want []byte
	for i := range w.m.frames {
		want = append(want, w.m.frames[i].raw...)
	}
	if !bytes.Equal(got, want) {
		w.t.Errorf("%d bytes of frames, want %d", len(got), len(want))
	}
	w.count["read"]++
}

func (w *walk) settings() {
	if w.m.running {
		if w.r.Intn(2) == 0 && len(w.fake.queue) == 0 {
			w.m.circular = !w.m.circular
			w.talk("QTBuffer:circular:" + map[bool]string{false: "0", true: "1"}[w.m.circular])
		}
		return
	}
	w.m.size = []int64{0, 100, 3000, 300_000, 1_500_000}[w.r.Intn(5)]
	w.talk(fmt.Sprintf("QTBuffer:size:%x", w.m.size))
	for w.m.used() > w.m.size {
		w.m.frames = w.m.frames[1:]
	}
	w.m.circular = w.r.Intn(2) == 0
	w.talk("QTBuffer:circular:" + map[bool]string{false: "0", true: "1"}[w.m.circular])
}

func (w *walk) startStop() {
	if w.m.running && w.r.Intn(10) > 0 {
		return
	}
	if w.m.running {
		w.talk("QTStop")
		w.m.running = false
		return
	}
	w.talk("QTStart")
	w.m = model{size: w.m.size, circular: w.m.circular, selected: -1, running: true, hits: map[int]int{}}
	w.view = nil
}

func (w *walk) checkStatus() {
	w.drained()
	s := w.ask("qTStatus")
	p, err := rsp.ParseReply(rsp.QueryTrace{}, []byte(s))
	if err != nil {
		w.t.Fatal(err)
	}
	v := p.(rsp.TraceStatus)
	if v.Running != w.m.running || int(*v.Frames) != len(w.m.frames) || int(*v.Created) != w.m.created ||
		int64(*v.Free) != w.m.size-w.m.used() || int64(*v.Size) != w.m.size {
		w.t.Errorf("%s\nwant running %v, %d frames of %d, %d bytes of %d", s, w.m.running, len(w.m.frames), w.m.created, w.m.used(), w.m.size)
	}
	if !w.m.running && w.m.reason != "" && !bytes.Contains([]byte(s), []byte(w.m.reason)) {
		w.t.Errorf("%s, want %s", s, w.m.reason)
	}
	for n := 1; n <= 3; n++ {
		addr := []string{"1000", "2000", "1000"}[n-1]
		var usage int64
		for i := range w.m.frames {
			if w.m.frames[i].number == n {
				usage += w.m.frames[i].cost()
			}
		}
		w.talk(fmt.Sprintf("qTP:%x:%s -> V%x:%x", n, addr, w.m.hits[n], usage))
	}
}

// invariants hold after whatever was done.
func (w *walk) invariants() {
	b := w.Experiment.buffer
	var sum, held int64
	for _, n := range b.usage {
		sum += n
	}
	for _, c := range b.chunks {
		held += int64(c.cost())
	}
	if b.used > b.size || sum != b.used || b.count < 0 {
		w.t.Errorf("%d bytes used of %d, %d by tracepoints, %d frames", b.used, b.size, sum, b.count)
	}
	if unsafe.Sizeof(entry{}) != frameCost {
		w.t.Errorf("an entry has %d bytes", unsafe.Sizeof(entry{}))
	}
	if held > b.used+chunkSize+1<<17 {
		w.t.Errorf("%d bytes are held for frames of %d", held, b.used)
	}
	if len(b.chunks) > 2 {
		w.count["several chunks"]++
	}
	if !slices.IsSortedFunc(b.chunks, func(a, c *chunk) int { return int(int64(a.first) - int64(c.first)) }) {
		w.t.Errorf("the chunks are out of order")
	}
}

package export

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/report"
)

var _ = add(Format{Name: "html", Doc: "one page with timeline, table, histograms and flame graph", Write: writeHTML})

// Limits of a page: a browser has all of it in memory.
const (
	maxPageEvents = 5_000_000
	maxPageTexts  = 256 << 20 // bytes
)

// page collects events by column. Numbers are LEB128, signed ones in zigzag form. Texts are numbers of a table. All of it is one
// compressed block of the page, so that no text of the traced program is in the page as text:
//
//	u32 bytes of the description, description (JSON), then the columns, whose sizes the description has
type page struct {
	r       *report.Reader
	simples *format.Simples
	meta    pageMeta
	sites   []*pageSite // by the number of the site
	threads map[pageThread]uint64
	texts   map[string]uint64
	stacks  map[uint32]uint64
	frames  map[pageFrame]int
	size    int // of texts

	time, site, thread, cpu, stack, text []byte
	last                                 int64
	field                                event.Value // here to avoid an allocation for each field
}

// pageMeta is the description of a page.
type pageMeta struct {
	Host    string      `json:"host"`
	Kernel  string      `json:"kernel"`
	Jalon   string      `json:"jalon"`
	Command []string    `json:"command,omitempty"`
	Start   string      `json:"start"` // CLOCK_MONOTONIC of the first event, a number of more than 53 bits
	Wall    string      `json:"wall"`  // the same by the wall clock
	Events  int         `json:"events"`
	Lost    uint64      `json:"lost"`
	Notes   []string    `json:"notes,omitempty"`
	Threads []pageName  `json:"threads"`
	Texts   int         `json:"texts"`
	Sites   []*pageSite `json:"sites"`
	Stacks  [][]int     `json:"stacks"` // numbers of frames, innermost first
	Frames  []pageFrame `json:"frames"`
	Sources []source    `json:"sources,omitempty"`
	Sizes   []int       `json:"sizes"` // of time, site, thread, cpu, stack, texts; then those of each column and of its gaps
}

// pageThread is a thread with a name that it had.
type pageThread struct {
	pid, tid int
	comm     string
}

type pageName struct {
	Pid   int    `json:"pid"`
	Tid   int    `json:"tid"`
	Comm  string `json:"comm"`
	Known bool   `json:"known"`
}

type pageFrame struct {
	Function string `json:"f"`
	File     string `json:"s,omitempty"`
	Line     int    `json:"l,omitempty"`
	Module   string `json:"m,omitempty"`
	Inlined  bool   `json:"i,omitempty"`
}

// pageSite is a place with the columns of its fields, in which its events have rows.
type pageSite struct {
	Place    string        `json:"place"`
	Function string        `json:"function,omitempty"`
	File     string        `json:"file,omitempty"`
	Line     int           `json:"line,omitempty"`
	Fields   []*pageColumn `json:"fields"`
	Rows     int           `json:"rows"`

	number uint64
}

// pageColumn has the values of a field. Where it has no value, the number is 0 and gaps has the row and the reason.
type pageColumn struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // int, uint, pointer, bool, float, text

	leaf       format.Leaf
	data, gaps []byte
	gap        int // row of the last one in gaps
}

var pageKinds = map[format.SimpleKind]string{
	format.SimpleNone: "text", format.SimpleInt: "int", format.SimpleUint: "uint", format.SimpleFloat: "float", format.SimpleBool: "bool",
	format.SimpleText: "text", format.SimplePointer: "pointer", format.SimpleJSON: "text",
}

func writeHTML(w io.Writer, r *report.Reader, o *Options) error {
	p := &page{
		r: r, simples: format.NewSimples(&format.Trace{Unwind: r.Unwind, Symbol: r.Symbol()}), sites: make([]*pageSite, r.Trace.Sites()),
		threads: map[pageThread]uint64{}, texts: map[string]uint64{}, stacks: map[uint32]uint64{}, frames: map[pageFrame]int{},
	}
	if err := r.Each(p.add); err != nil {
		return err
	}
	if o.Sources != "" {
		var err error
		if p.meta.Sources, err = p.sources(o.Sources); err != nil {
			return err
		}
	}
	return p.write(w)
}

func (p *page) add(ev *event.Event) error {
	m := &p.meta
	if m.Events++; m.Events > maxPageEvents || p.size > maxPageTexts {
		return fmt.Errorf("a page can have %d events and %d MiB of text: choose a part of the trace by --from, --until, --where or --fields", maxPageEvents, maxPageTexts>>20)
	}
	if m.Events == 1 {
		p.last = ev.TimeNS
		m.Start, m.Wall = strconv.FormatInt(ev.TimeNS, 10), strconv.FormatInt(ev.TimeNS+p.r.Trace.Info.WallOffset, 10)
	}
	s := p.sites[p.r.Site()]
	if s == nil {
		s = p.newSite(ev.Schema)
		p.sites[p.r.Site()] = s
	}
	p.time = binary.AppendUvarint(p.time, uint64(max(ev.TimeNS-p.last, 0)))
	p.last = max(p.last, ev.TimeNS)
	p.site = binary.AppendUvarint(p.site, s.number)
	p.thread = binary.AppendUvarint(p.thread, p.threadOf(ev))
	p.cpu = binary.AppendUvarint(p.cpu, uint64(max(ev.CPU, 0)))
	p.stack = binary.AppendUvarint(p.stack, p.stackOf(p.r.Stack(ev)))
	read := -1
	for _, c := range s.Fields {
		if c.leaf.Index != read {
			read, p.field = c.leaf.Index, ev.Value(c.leaf.Index)
		}
		p.value(c, s.Rows, ev, &p.field)
	}
	s.Rows++
	return nil
}

func (p *page) newSite(s *event.Schema) *pageSite {
	x := &pageSite{
		Place: utf8Text([]byte(s.Place)), Function: utf8Text([]byte(s.Function)), File: utf8Text([]byte(s.File)), Line: s.Line,
		number: uint64(len(p.meta.Sites)), Fields: []*pageColumn{},
	}
	for _, l := range format.LeavesOf(s) {
		x.Fields = append(x.Fields, &pageColumn{Name: utf8Text([]byte(l.Name)), Kind: pageKinds[l.Kind], leaf: l})
	}
	p.meta.Sites = append(p.meta.Sites, x)
	return x
}

// value adds the value of a field to its column.
func (p *page) value(c *pageColumn, row int, ev *event.Event, v *event.Value) {
	s := p.simples.Leaf(ev, v, &c.leaf)
	switch s.Kind {
	case format.SimpleInt:
		c.data = binary.AppendVarint(c.data, s.Int)
	case format.SimpleUint, format.SimplePointer, format.SimpleBool:
		c.data = binary.AppendUvarint(c.data, s.Uint)
	case format.SimpleFloat:
		c.data = binary.LittleEndian.AppendUint64(c.data, math.Float64bits(s.Float))
	case format.SimpleText, format.SimpleJSON:
		c.data = binary.AppendUvarint(c.data, p.textOf(s.Text))
	default:
		if c.Kind == "float" {
			c.data = binary.LittleEndian.AppendUint64(c.data, 0)
		} else {
			c.data = append(c.data, 0)
		}
		why := v.Explain()
		if why == "" {
			why = "no value"
		}
		c.gaps = binary.AppendUvarint(c.gaps, uint64(row-c.gap))
		c.gaps = binary.AppendUvarint(c.gaps, p.textOf([]byte(why)))
		c.gap = row
	}
}

// textOf is the number of a text.
func (p *page) textOf(b []byte) uint64 {
	n, ok := p.texts[string(b)]
	if !ok {
		n = uint64(len(p.texts))
		p.texts[string(b)] = n
		text := utf8Text(b)
		p.text = append(binary.AppendUvarint(p.text, uint64(len(text))), text...)
		p.size += len(text) + 16
	}
	return n
}

func (p *page) threadOf(ev *event.Event) uint64 {
	key := pageThread{ev.Pid, ev.Tid, ev.Comm}
	n, ok := p.threads[key]
	if !ok {
		n = uint64(len(p.threads))
		p.threads[key] = n
		p.meta.Threads = append(p.meta.Threads, pageName{ev.Pid, ev.Tid, utf8Text([]byte(ev.Comm)), ev.KnowsThread()})
	}
	return n
}

// stackOf is the number of a stack in the page, 0 if there is none.
func (p *page) stackOf(number uint32) uint64 {
	if number == 0 {
		return 0
	}
	n, ok := p.stacks[number]
	if !ok {
		list := []int{}
		frames := p.r.Trace.State.Frames(number)
		for i := range frames {
			f := &frames[i]
			if f.PC == 0 && f.Function == "" {
				continue
			}
			x := pageFrame{utf8Text([]byte(report.FrameName(f))), utf8Text([]byte(f.File)), f.Line, utf8Text([]byte(f.Module)), f.Inlined}
			at, ok := p.frames[x]
			if !ok {
				at = len(p.meta.Frames)
				p.frames[x] = at
				p.meta.Frames = append(p.meta.Frames, x)
			}
			list = append(list, at)
		}
		p.meta.Stacks = append(p.meta.Stacks, list)
		n = uint64(len(p.meta.Stacks))
		p.stacks[number] = n
	}
	return n
}

// describe completes the description.
func (p *page) describe() ([]byte, [][]byte, error) {
	m, info := &p.meta, &p.r.Trace.Info
	m.Host, m.Kernel, m.Jalon, m.Command, m.Lost, m.Notes = info.Host, info.Kernel, info.Jalon, info.Command, p.r.Trace.Lost(), p.r.Notes()
	m.Texts = len(p.texts)
	columns := [][]byte{p.time, p.site, p.thread, p.cpu, p.stack, p.text}
	for _, s := range m.Sites {
		for _, c := range s.Fields {
			columns = append(columns, c.data, c.gaps)
		}
	}
	for _, c := range columns {
		m.Sizes = append(m.Sizes, len(c))
	}
	if m.Start == "" {
		m.Start, m.Wall = "0", "0"
	}
	if m.Threads == nil {
		m.Threads = []pageName{}
	}
	if m.Sites == nil {
		m.Sites = []*pageSite{}
	}
	b, err := json.Marshal(m)
	return b, columns, err
}

// write writes the page.
func (p *page) write(w io.Writer) error {
	meta, columns, err := p.describe()
	if err != nil {
		return err
	}
	head, tail := pageFrameText()
	if _, err := io.WriteString(w, head); err != nil {
		return err
	}
	b64 := base64.NewEncoder(base64.StdEncoding, w)
	z := gzip.NewWriter(b64)
	size := binary.LittleEndian.AppendUint32(nil, uint32(len(meta)))
	for _, b := range append([][]byte{size, meta}, columns...) {
		if _, err := z.Write(b); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := b64.Close(); err != nil {
		return err
	}
	_, err = io.WriteString(w, tail)
	return err
}

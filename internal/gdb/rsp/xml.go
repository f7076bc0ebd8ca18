package rsp

import (
	"bytes"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"strconv"
)

// document builds the XML documents that GDB reads with qXfer. Attributes are
// escaped, and what XML cannot hold (control characters, invalid UTF-8: the names of
// threads and files may have both) becomes U+FFFD.
type document struct {
	bytes.Buffer
	open []string
}

// attribute is a name and a value; nil pointers of them are left out.
type attribute struct{ name, value string }

func attr(name, value string) *attribute { return &attribute{name, value} }

func attrHex(name string, v uint64) *attribute { return attr(name, fmt.Sprintf("%#x", v)) }

func attrInt(name string, v int) *attribute { return attr(name, strconv.Itoa(v)) }

// some is the attribute if it has a value.
func some(name, value string) *attribute {
	if value == "" {
		return nil
	}
	return attr(name, value)
}

func (d *document) tag(name, end string, attrs []*attribute) {
	fmt.Fprintf(d, "%*s<%s", 2*len(d.open), "", name)
	for _, a := range attrs {
		if a == nil {
			continue
		}
		fmt.Fprintf(d, " %s=\"", a.name)
		_ = xml.EscapeText(d, []byte(a.value)) // a buffer takes everything
		d.WriteByte('"')
	}
	d.WriteString(end)
}

// leaf is an element without contents.
func (d *document) leaf(name string, attrs ...*attribute) { d.tag(name, "/>\n", attrs) }

// begin opens an element.
func (d *document) begin(name string, attrs ...*attribute) {
	d.tag(name, ">\n", attrs)
	d.open = append(d.open, name)
}

// end closes the innermost element.
func (d *document) end() {
	last := len(d.open) - 1
	name := d.open[last]
	d.open = d.open[:last]
	fmt.Fprintf(d, "%*s</%s>\n", 2*last, "", name)
}

// text is an element that holds text alone.
func (d *document) text(name, text string, attrs ...*attribute) {
	d.tag(name, ">", attrs)
	_ = xml.EscapeText(d, []byte(text))
	fmt.Fprintf(d, "</%s>\n", name)
}

// newDocument begins one with GDB's DTD of that name.
func newDocument(root, dtd string) *document {
	d := &document{}
	d.WriteString("<?xml version=\"1.0\"?>\n")
	if dtd != "" {
		fmt.Fprintf(d, "<!DOCTYPE %s SYSTEM \"%s\">\n", root, dtd)
	}
	return d
}

// ThreadInfo is a line of the thread list.
type ThreadInfo struct {
	ID     ThreadID
	Core   int    // -1: not known
	Name   string // as `ps` shows it
	Extra  string // further words, shown by `info threads`
	Handle []byte // the thread library's own name of it (pthread_t); nil: none
}

// ThreadsXML is the object threads.
func ThreadsXML(threads []ThreadInfo) []byte {
	d := newDocument("", "")
	d.begin("threads")
	for _, t := range threads {
		attrs := []*attribute{attr("id", t.ID.String())}
		if t.Core >= 0 {
			attrs = append(attrs, attrInt("core", t.Core))
		}
		attrs = append(attrs, some("name", t.Name), some("handle", hex.EncodeToString(t.Handle)))
		if t.Extra == "" {
			d.leaf("thread", attrs...)
		} else {
			d.text("thread", t.Extra, attrs...)
		}
	}
	d.end()
	return d.Bytes()
}

// Library is an entry of the dynamic linker's list (struct link_map).
type Library struct {
	Name    string
	LinkMap uint64 // the entry's address
	Base    uint64 // l_addr: what is added to the file's addresses
	Dynamic uint64 // l_ld: the dynamic section
	// Namespace is the head of the list that it is in; 0: not said.
	Namespace uint64
}

// LibrariesXML is the object libraries-svr4. mainLinkMap is the entry of the program
// itself, which is not in the list; 0 means not known yet.
func LibrariesXML(mainLinkMap uint64, libraries []Library) []byte {
	d := newDocument("library-list-svr4", "library-list-svr4.dtd")
	attrs := []*attribute{attr("version", "1.0")}
	if mainLinkMap != 0 {
		attrs = append(attrs, attrHex("main-lm", mainLinkMap))
	}
	d.begin("library-list-svr4", attrs...)
	for _, l := range libraries {
		attrs := []*attribute{attr("name", l.Name), attrHex("lm", l.LinkMap), attrHex("l_addr", l.Base), attrHex("l_ld", l.Dynamic)}
		if l.Namespace != 0 {
			attrs = append(attrs, attrHex("lmid", l.Namespace))
		}
		d.leaf("library", attrs...)
	}
	d.end()
	return d.Bytes()
}

// MemoryKind is the type of a region of a memory map.
type MemoryKind string

// The types: GDB writes to RAM only, and puts no software breakpoints into ROM.
const (
	MemoryRAM   MemoryKind = "ram"
	MemoryROM   MemoryKind = "rom"
	MemoryFlash MemoryKind = "flash"
)

// MemoryRegion is a line of the memory map. BlockSize is for flash.
type MemoryRegion struct {
	Kind          MemoryKind
	Start, Length uint64
	BlockSize     uint64
}

// MemoryMapXML is the object memory-map. Memory outside its regions does not exist
// for GDB.
func MemoryMapXML(regions []MemoryRegion) []byte {
	const dtd = "http://sourceware.org/gdb/gdb-memory-map.dtd"
	d := newDocument("memory-map", "")
	fmt.Fprintf(d, "<!DOCTYPE memory-map PUBLIC \"+//IDN gnu.org//DTD GDB Memory Map V1.0//EN\" %q>\n", dtd)
	d.begin("memory-map")
	for _, r := range regions {
		attrs := []*attribute{attr("type", string(r.Kind)), attrHex("start", r.Start), attrHex("length", r.Length)}
		if r.BlockSize == 0 {
			d.leaf("memory", attrs...)
			continue
		}
		d.begin("memory", attrs...)
		d.text("property", fmt.Sprintf("%#x", r.BlockSize), attr("name", "blocksize"))
		d.end()
	}
	d.end()
	return d.Bytes()
}

// TraceFrameInfoXML is the object traceframe-info: the memory (Start and length) and
// the trace state variables that the selected frame has.
func TraceFrameInfoXML(memory []MemoryRegion, variables []uint64) []byte {
	d := newDocument("traceframe-info", "traceframe-info.dtd")
	d.begin("traceframe-info")
	for _, r := range memory {
		d.leaf("memory", attrHex("start", r.Start), attrHex("length", r.Length))
	}
	for _, v := range variables {
		d.leaf("tvar", attrHex("id", v))
	}
	d.end()
	return d.Bytes()
}

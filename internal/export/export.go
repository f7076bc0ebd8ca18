// Package export writes recorded traces in the formats of other viewers, one file a format. All of them read the events once, in order,
// and keep none of them.
//
// Texts in a trace are those of the traced program, which may be hostile: each format escapes them.
//
// Import rule: export imports ctf, event, format and report only.
package export

import (
	"io"
	"sort"
	"strings"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/report"
)

// Format is a format of files. Each registers itself by one call of add in its own file.
type Format struct {
	Name  string
	Doc   string
	Write func(w io.Writer, r *report.Reader, o *Options) error
}

// Options are what formats may have besides the events.
type Options struct {
	Sources string // a directory of source files for the page; "": it has none
}

var formats []Format

func add(f Format) Format {
	formats = append(formats, f)
	sort.Slice(formats, func(i, j int) bool { return formats[i].Name < formats[j].Name })
	return f
}

// The mark of the time from which on a trace has all events.
const (
	completeName = "complete from"
	completeText = "all events are there from this time on; some of the older ones are missing"
)

// Named returns the format with a name, or nil.
func Named(name string) *Format {
	for i := range formats {
		if formats[i].Name == name {
			return &formats[i]
		}
	}
	return nil
}

// Names lists the formats, and their descriptions in one line.
func Names() (names, help string) {
	var a, b []string
	for _, f := range formats {
		a, b = append(a, f.Name), append(b, f.Name+" ("+f.Doc+")")
	}
	return strings.Join(a, ","), strings.Join(b, ", ")
}

// plan is what is the same in all events of a schema.
type plan struct {
	name   uint64 // its number
	leaves []format.Leaf
	keys   []uint64 // numbers of the names of leaves
	head   []byte   // of the text of an event
	texts  [][]byte // of the names of leaves
}

// eventName is the name of a site's events in viewers.
func eventName(s *event.Schema) string {
	if s.Function == "" || strings.Contains(s.Place, s.Function) {
		return s.Place
	}
	return s.Place + " in " + s.Function
}

// utf8Text is a text in which each byte that is no UTF-8 is the sign for that.
func utf8Text(b []byte) string { return strings.ToValidUTF8(string(b), "�") }

// output collects bytes and writes them in large pieces.
type output struct {
	w   io.Writer
	buf []byte
}

const outputSize = 256 << 10

func (o *output) room() error {
	if len(o.buf) < outputSize {
		return nil
	}
	return o.flush()
}

func (o *output) flush() error {
	_, err := o.w.Write(o.buf)
	o.buf = o.buf[:0]
	return err
}

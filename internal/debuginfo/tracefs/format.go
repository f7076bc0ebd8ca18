package tracefs

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// Limits for format files: a record fits in a page of the ring buffer, and offsets of dynamic arrays have 16
// bits.
const (
	maxOffset = 1 << 16
	maxFields = 1 << 12
)

// ParseFormat parses the text of a `format` file. types may be nil; see FS.Types. The caller sets System, which
// is not in the file.
func ParseFormat(text []byte, types func(name string) *ctype.Type) (*Event, error) {
	head, print, found := strings.Cut(string(text), "\nprint fmt:")
	if !found {
		return nil, errors.New("no line \"print fmt:\"")
	}
	// The string may contain newlines, so the format extends to the end of the file.
	ev := &Event{ID: -1, PrintFmt: strings.TrimSpace(print)}
	for i, line := range strings.Split(head, "\n") {
		if err := ev.line(line, types); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	switch {
	case ev.Name == "":
		return nil, errors.New("no line \"name:\"")
	case ev.ID < 0:
		return nil, errors.New("no line \"ID:\"")
	}
	return ev, nil
}

// line parses one line before the print format.
func (e *Event) line(line string, types func(string) *ctype.Type) error {
	key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
	value = strings.TrimSpace(value)
	switch {
	case !ok && key == "":
		return nil
	case !ok:
		return fmt.Errorf("%q has no colon", clip(key))
	case key == "name":
		e.Name = value
	case key == "ID":
		id, err := strconv.ParseUint(value, 10, 31)
		if err != nil {
			return fmt.Errorf("ID %q is not a number", clip(value))
		}
		e.ID = int(id)
	case key == "field":
		f, err := parseField(value, types)
		if err != nil {
			return err
		}
		if len(e.Fields) == maxFields {
			return errors.New("too many fields")
		}
		e.Fields = append(e.Fields, f)
	}
	// "format:" precedes the fields. Ignore keys of later kernels.
	return nil
}

// parseField reads `DECLARATION;	offset:8;	size:4;	signed:1;`.
func parseField(s string, types func(string) *ctype.Type) (Field, error) {
	parts := strings.Split(s, ";")
	f := Field{Decl: strings.TrimSpace(parts[0]), Offset: -1, Size: -1}
	for _, p := range parts[1:] {
		key, value, _ := strings.Cut(strings.TrimSpace(p), ":")
		if key == "" {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 31)
		if err != nil {
			return f, fmt.Errorf("field %q: %s is %q, not a number", clip(f.Decl), clip(key), clip(value))
		}
		switch key {
		case "offset":
			f.Offset = int64(n)
		case "size":
			f.Size = int64(n)
		case "signed":
			f.Signed = n != 0
		}
	}
	if f.Offset < 0 || f.Size < 0 || f.Offset > maxOffset || f.Size > maxOffset {
		return f, fmt.Errorf("field %q: no offset and size below %d", clip(f.Decl), maxOffset)
	}
	err := f.declare(types)
	return f, err
}

// clip shortens text of a file for an error.
func clip(s string) string {
	if len(s) > 80 {
		return s[:77] + "..."
	}
	return s
}

package ctf

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
)

// FileInfo is the content of jalon/info.json: what is known when a recording begins.
type FileInfo struct {
	Format     string    `json:"format"` // "jalon trace"
	Version    int       `json:"version"`
	CTF        int       `json:"ctf,omitempty"` // 2: the metadata are those of CTF 2; 0: of CTF 1.8
	UUID       [16]byte  `json:"-"`
	UUIDText   string    `json:"uuid"`
	Jalon      string    `json:"jalon"` // version
	Host       string    `json:"host"`
	Kernel     string    `json:"kernel"` // release
	Machine    string    `json:"machine"`
	Boot       string    `json:"boot,omitempty"` // the kernel's id of the time since the machine was started, in which it has one clock
	Started    time.Time `json:"started"`
	WallOffset int64     `json:"wall_offset"` // added to times for the wall clock, ns
	Pid        int       `json:"pid,omitempty"`
	Command    []string  `json:"command,omitempty"` // that was started
	Args       []string  `json:"args,omitempty"`    // of jalon
	Large      []string  `json:"large,omitempty"`   // classes whose heads are for many sites
	Part       bool      `json:"part,omitempty"`    // the directory is one part of a trace that was rotated
	Joined     []Joined  `json:"joined,omitempty"`  // the traces of which it was made
	// CompleteFrom is from which time on there are all events that came until the rings were read, CLOCK_MONOTONIC in nanoseconds; 0: from the
	// beginning. Gaps: some before it are missing; otherwise the part before this one has them.
	CompleteFrom int64 `json:"complete_from,omitempty"`
	Gaps         bool  `json:"gaps,omitempty"`
}

// completeName is the name of CompleteFrom in the environment.
const completeName = "complete_from"

// CompleteEnv is what viewers show of CompleteFrom.
func (x *FileInfo) CompleteEnv() []Env {
	if x.CompleteFrom == 0 {
		return nil
	}
	return []Env{{Name: completeName, Value: x.CompleteFrom}}
}

// The format of info.json.
const (
	infoFormat     = "jalon trace"
	checkedVersion = 2 // from which on packets have checksums
	infoVersion    = 2
)

// Summary is the content of jalon/summary.json: how a recording ended.
type Summary struct {
	Outcome  string        `json:"outcome"`
	Duration time.Duration `json:"duration_ns"`
	Events   uint64        `json:"events"`
	Lost     uint64        `json:"lost"`
	// Overwritten: the program has overwritten counts of losses, so that there may be more.
	Overwritten bool        `json:"overwritten,omitempty"`
	Bytes       uint64      `json:"bytes"`
	Removed     uint64      `json:"removed_chunks,omitempty"`
	Stopped     string      `json:"stopped,omitempty"` // why recording ended before the trace
	Sites       []SiteCount `json:"sites"`
}

// SiteCount has the counts of a site.
type SiteCount struct {
	Place    string `json:"place"`
	Function string `json:"function,omitempty"`
	PC       uint64 `json:"pc"`
	Recorded uint64 `json:"recorded"`
	Lost     uint64 `json:"lost,omitempty"`
	False    uint64 `json:"false,omitempty"`
	Faults   uint64 `json:"faults,omitempty"`
	Missed   uint64 `json:"missed,omitempty"`
	Replaced uint64 `json:"replaced,omitempty"`
	// Overwritten: the program has overwritten the counts but Recorded, which are 0.
	Overwritten bool `json:"overwritten,omitempty"`
}

// schemasJSON is jalon/schemas.json: a file of package event for each class.
type schemasJSON map[string]json.RawMessage

// EncodeSchemas makes the content of jalon/schemas.json. It loads the members of types: see event.File.
func EncodeSchemas(schemas Schemas) ([]byte, error) {
	all := schemasJSON{}
	for c, list := range schemas {
		var b strings.Builder
		f := event.File{Schemas: list}
		if err := f.Encode(&b); err != nil {
			return nil, err
		}
		all[c.String()] = json.RawMessage(strings.TrimSpace(b.String()))
	}
	return json.Marshal(all)
}

// EncodeInfo makes the content of jalon/info.json.
func EncodeInfo(x FileInfo) ([]byte, error) {
	x.Format, x.Version, x.UUIDText = infoFormat, infoVersion, hex.EncodeToString(x.UUID[:])
	return json.MarshalIndent(x, "", "\t")
}

const maxOwn = 512 << 20 // bytes of a file of jalon's

func readOwn(dir, name string) ([]byte, error) {
	f, err := openRegular(filepath.Join(dir, OwnDirectory, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxOwn+1))
	if err == nil && len(b) > maxOwn {
		err = fmt.Errorf("%s has more than %d bytes", f.Name(), maxOwn)
	}
	return b, err
}

func (c *chunk) readInfo(t *Trace) error {
	b, err := readOwn(c.dir, InfoFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has no %s/%s: jalon reads traces of jalon record; babeltrace2 reads others", c.dir, OwnDirectory, InfoFile)
	}
	if err != nil {
		return err
	}
	var x FileInfo
	if err := json.Unmarshal(b, &x); err != nil {
		return fmt.Errorf("%s/%s/%s: %w", c.dir, OwnDirectory, InfoFile, err)
	}
	id, err := hex.DecodeString(x.UUIDText)
	switch {
	case x.Format != infoFormat:
		return fmt.Errorf("%s is not a trace of jalon", c.dir)
	case x.Version < 1 || x.Version > infoVersion:
		return fmt.Errorf("%s: the trace has version %d; this jalon reads versions 1 to %d", c.dir, x.Version, infoVersion)
	case err != nil || len(id) != 16:
		return fmt.Errorf("%s: the uuid %q is none", c.dir, x.UUIDText)
	case len(t.chunks) > 0 && [16]byte(id) != t.Info.UUID:
		return fmt.Errorf("%s is of another recording than the directories beside it", c.dir)
	}
	x.UUID, c.checked = [16]byte(id), x.Version >= checkedVersion
	for class := range classes {
		for _, name := range x.Large {
			c.large[class] = c.large[class] || name == class.String()
		}
	}
	if x.Gaps || len(t.chunks) == 0 {
		t.CompleteFrom = max(t.CompleteFrom, x.CompleteFrom)
	}
	t.Info = x
	return nil
}

func (c *chunk) readSchemas(t *Trace) error {
	b, err := readOwn(c.dir, SchemasFile)
	if err != nil {
		return err
	}
	var all schemasJSON
	if err := json.Unmarshal(b, &all); err != nil {
		return fmt.Errorf("%s/%s/%s: %w", c.dir, OwnDirectory, SchemasFile, err)
	}
	for class := range State {
		raw, ok := all[class.String()]
		if !ok {
			continue
		}
		f, err := event.Decode(strings.NewReader(string(raw)))
		if err != nil {
			return fmt.Errorf("%s/%s/%s: %w", c.dir, OwnDirectory, SchemasFile, err)
		}
		for _, s := range f.Schemas {
			if err := c.addSite(class, t.known(class, s), t.index); err != nil {
				return err
			}
		}
	}
	return nil
}

// known returns the schema of a site as an earlier chunk has it, so that the events of a site have one schema.
func (t *Trace) known(class Class, s *event.Schema) *event.Schema {
	for _, c := range t.chunks {
		if uint64(s.SiteID) < uint64(len(c.sites[class])) {
			if x := c.sites[class][s.SiteID]; x != nil && x.schema.PC == s.PC && x.schema.Place == s.Place && x.schema.RecordSize == s.RecordSize && len(x.schema.Fields) == len(s.Fields) {
				return x.schema
			}
		}
	}
	return s
}

// maxSite bounds the ids of sites.
const maxSite = 1 << 21

func (c *chunk) addSite(class Class, s *event.Schema, index map[*event.Schema]int) error {
	if s.SiteID >= maxSite || s.RecordSize < ring.RecHeader {
		return fmt.Errorf("%s: the site %d with records of %d bytes cannot be", c.dir, s.SiteID, s.RecordSize)
	}
	p := newPlan(s)
	if err := p.check(); err != nil {
		return fmt.Errorf("%s: %w", c.dir, err)
	}
	for uint64(len(c.sites[class])) <= uint64(s.SiteID) {
		c.sites[class] = append(c.sites[class], nil)
	}
	n, ok := index[s]
	if !ok {
		n = len(index)
		index[s] = n
	}
	c.sites[class][s.SiteID] = &siteReader{s, p, n}
	return nil
}

func readSummary(dir string) (*Summary, error) {
	b, err := readOwn(dir, SummaryFile)
	if err != nil {
		return nil, err
	}
	s := &Summary{}
	return s, json.Unmarshal(b, s)
}

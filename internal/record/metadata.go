package record

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/lttng"
)

// writeMetadata writes what is known of the trace: it is complete before the packets that need it.
func (r *Recorder) writeMetadata() error {
	info := &ctf.Info{UUID: r.uuid, CTF2: r.info.CTF == 2, WallOffset: r.info.WallOffset, Env: r.environment()}
	info.Large[ctf.Process], info.Large[ctf.Kernel] = r.large, r.large
	text, err := ctf.Metadata(info, r.schemas)
	if err != nil {
		return err
	}
	schemas, err := ctf.EncodeSchemas(r.schemas)
	if err != nil {
		return err
	}
	own, err := ctf.EncodeInfo(r.info)
	if err != nil {
		return err
	}
	r.out.describe([]file{
		{ctf.OwnDirectory + "/" + ctf.InfoFile, own}, {ctf.OwnDirectory + "/" + ctf.SchemasFile, schemas}, {ctf.MetadataFile, text},
	})
	return nil
}

// lttngEnvironment has Trace Compass take a trace for one of LTTng's kernel tracer, whose form its events have.
var lttngEnvironment = []ctf.Env{
	{Name: "domain", Value: "kernel"},
	{Name: "tracer_name", Value: "lttng-modules"},
	{Name: "tracer_major", Value: int64(2)},
	{Name: "tracer_minor", Value: int64(13)},
	{Name: "tracer_patchlevel", Value: int64(0)},
}

// environment is what viewers show of a trace.
func (r *Recorder) environment() []ctf.Env {
	x := &r.info
	list := []ctf.Env{{Name: "hostname", Value: x.Host}}
	if r.opt.LTTng {
		list = append(list, lttngEnvironment...)
		list = append(list, ctf.Env{Name: "recorder", Value: "jalon " + x.Jalon})
	} else {
		list = append(list, ctf.Env{Name: "domain", Value: "jalon"}, ctf.Env{Name: "tracer_name", Value: "jalon"}, ctf.Env{Name: "tracer_version", Value: x.Jalon})
	}
	list = append(list, []ctf.Env{
		{Name: "sysname", Value: "Linux"},
		{Name: "kernel_release", Value: x.Kernel},
		{Name: "machine", Value: x.Machine},
		{Name: "trace_creation_datetime", Value: x.Started.UTC().Format("20060102T150405Z")},
	}...)
	if x.Pid != 0 {
		list = append(list, ctf.Env{Name: "vpid", Value: int64(x.Pid)})
	}
	if len(x.Command) > 0 {
		list = append(list, ctf.Env{Name: "command", Value: strings.Join(x.Command, " ")})
	}
	if r.opt.rotates() {
		list = append(list, ctf.Env{Name: "chunk", Value: fmt.Sprint(r.chunk)})
	}
	return append(list, x.CompleteEnv()...)
}

// computedNames gives fields of sets that are computed LTTng's names, in place of the expressions.
func computedNames(s *event.Schema) {
	system, name := lttng.Tracepoint(s.Place)
	s.Fields = slices.Clone(s.Fields)
	for i := range s.Fields {
		if as := lttng.Computed(system, name, s.Fields[i].Name); as != "" {
			s.Fields[i].Name = as
		}
	}
}

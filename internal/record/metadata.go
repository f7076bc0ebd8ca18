package record

import (
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctf"
)

// writeMetadata writes what is known of the trace: it is complete before the packets that need it.
func (r *Recorder) writeMetadata() error {
	info := &ctf.Info{UUID: r.uuid, WallOffset: r.info.WallOffset, Env: r.environment()}
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
		{ctf.OwnDirectory + "/" + ctf.InfoFile, own}, {ctf.OwnDirectory + "/" + ctf.SchemasFile, schemas}, {ctf.MetadataFile, []byte(text)},
	})
	return nil
}

// environment is what viewers show of a trace.
func (r *Recorder) environment() []ctf.Env {
	x := &r.info
	list := []ctf.Env{
		{Name: "hostname", Value: x.Host},
		{Name: "domain", Value: "jalon"},
		{Name: "tracer_name", Value: "jalon"},
		{Name: "tracer_version", Value: x.Jalon},
		{Name: "sysname", Value: "Linux"},
		{Name: "kernel_release", Value: x.Kernel},
		{Name: "machine", Value: x.Machine},
		{Name: "trace_creation_datetime", Value: x.Started.UTC().Format("20060102T150405Z")},
	}
	if x.Pid != 0 {
		list = append(list, ctf.Env{Name: "vpid", Value: int64(x.Pid)})
	}
	if len(x.Command) > 0 {
		list = append(list, ctf.Env{Name: "command", Value: strings.Join(x.Command, " ")})
	}
	if r.opt.rotates() {
		list = append(list, ctf.Env{Name: "chunk", Value: fmt.Sprint(r.chunk)})
	}
	return list
}

package plan

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang/script"
)

// placeText is an attach point in jalon's notation.
func placeText(pl *script.Place, opt Options) (string, error) {
	if f := notations[pl.Provider.Name]; f != nil {
		return f(pl, opt)
	}
	return "", fmt.Errorf("jalon has no probes of the kind %s yet", pl.Provider.Name)
}

// notations has a function for each kind of attach points.
var notations = map[string]func(*script.Place, Options) (string, error){
	"tracepoint": func(pl *script.Place, _ Options) (string, error) {
		return "tracepoint:" + pl.Target + ":" + pl.Name, nil
	},
	"rawtracepoint": func(pl *script.Place, _ Options) (string, error) {
		if core, err := path.Match(pl.Target, "vmlinux"); pl.Target != "" && (err != nil || !core) {
			return "rawtracepoint:" + pl.Target + ":" + pl.Name, nil
		}
		return "rawtracepoint:" + pl.Name, nil
	},
	"kprobe": kernelFunction, "kretprobe": kernelFunction, "fentry": kernelFunction, "fexit": kernelFunction,
	"uprobe": userFunction, "uretprobe": userFunction,
	"interval": func(pl *script.Place, _ Options) (string, error) {
		text, err := timer(pl, Options{})
		return "interval:" + strings.TrimPrefix(text, "profile:"), err
	},
	"usdt": func(pl *script.Place, _ Options) (string, error) {
		if pl.Target == "" {
			return "", errors.New("name the program or library of the marker: usdt:PATH:NAME")
		}
		if pl.Namespace != "" {
			return "usdt:" + pl.Target + ":" + pl.Namespace + ":" + pl.Name, nil
		}
		return "usdt:" + pl.Target + ":" + pl.Name, nil
	},
	"iter": func(pl *script.Place, _ Options) (string, error) {
		if pl.Pin != "" {
			return "", errors.New("jalon does not pin iterators: it goes through the objects itself")
		}
		return "iter:" + pl.Name, nil
	},
	"profile":  timer,
	"software": counter, "hardware": counter,
}

func kernelFunction(pl *script.Place, _ Options) (string, error) {
	kind := pl.Provider.Name + ":"
	if pl.Target == "bpf" {
		return "", errors.New("jalon does not attach to eBPF programs yet")
	}
	if pl.Target != "" && pl.Target != "*" && pl.Target != "vmlinux" {
		kind += pl.Target + ":"
	}
	switch {
	case pl.HasAddr:
		return fmt.Sprintf("%s0x%x", kind, pl.Address), nil
	case pl.Offset != 0:
		return fmt.Sprintf("%s%s+%d", kind, pl.Name, pl.Offset), nil
	}
	return kind + pl.Name, nil
}

func userFunction(pl *script.Place, opt Options) (string, error) {
	target := pl.Target
	switch {
	case target == "" && !opt.Process || target == "*" && (!opt.Process || pl.Provider.Name == "uretprobe"):
		return "", errors.New("name the program or library: " + pl.Provider.Name + ":PATH:FUNC")
	case target == "*":
		target = ""
	}
	switch {
	case pl.File != "" && target == "":
		return fmt.Sprintf("%s:%d", pl.File, pl.Line), nil
	case pl.File != "":
		return fmt.Sprintf("uprobe:%s@%s:%d", target, pl.File, pl.Line), nil
	case target == "" && pl.Provider.Name == "uretprobe":
		return pl.Name + "%return", nil
	case target == "" && pl.HasAddr:
		return fmt.Sprintf("*0x%x", pl.Address), nil
	case target == "":
		return fmt.Sprintf("%s+%d", pl.Name, pl.Offset), nil
	}
	text := pl.Provider.Name + ":" + target + ":"
	switch {
	case pl.HasAddr:
		return fmt.Sprintf("%s0x%x", text, pl.Address), nil
	case pl.Offset != 0:
		return fmt.Sprintf("%s%s+%d", text, pl.Name, pl.Offset), nil
	}
	return text + strings.Trim(pl.Name, `"`), nil
}

func timer(pl *script.Place, _ Options) (string, error) {
	if pl.Hertz > 0 {
		return fmt.Sprintf("profile:hz:%d", pl.Hertz), nil
	}
	return fmt.Sprintf("profile:us:%d", max(pl.Nanos/1000, 1)), nil
}

func counter(pl *script.Place, _ Options) (string, error) {
	if pl.Count > 0 {
		return fmt.Sprintf("%s:%s:%d", pl.Provider.Name, pl.Target, pl.Count), nil
	}
	return pl.Provider.Name + ":" + pl.Target, nil
}

// at is the plan of a site for another place of its probe, if nothing in it depends on which of the two it is; otherwise nil. The static tracepoints
// of a probe differ only in their names: args has the same types in all.
func (s *Site) at(pl *script.Place, opt Options) *Site {
	const kind = "tracepoint"
	if s == nil || s.Point.Provider.Name != kind || pl.Provider.Name != kind || s.Point.Label != "" || pl.Label != "" {
		return nil
	}
	text, err := placeText(pl, opt)
	if err != nil {
		return nil
	}
	other := *s
	other.Point, other.Place = pl, text
	return &other
}

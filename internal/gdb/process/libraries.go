package process

import (
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
	"github.com/jalon-trace/jalon/internal/image"
)

// Libraries is the object libraries-svr4. The annex is empty or
// `start=ADDR;prev=ADDR;lmid=ID;`: then the list begins at that entry, whose
// predecessor and namespace are known. Unknown words are ignored.
func Libraries(read image.Memory, auxv []byte, annex string) ([]byte, error) {
	arg := parseAnnex(annex)
	if start := arg["start"]; start != 0 {
		list := image.LinkMapsFrom(read, start, arg["prev"])
		return libraryDocument(list, arg["prev"] == 0, arg["lmid"]), nil
	}
	spaces, err := image.LinkMaps(read, auxv)
	if err != nil {
		return nil, err
	}
	var main uint64
	var out []rsp.Library
	for i, ns := range spaces {
		list := ns.List
		if i == 0 && len(list) > 0 {
			main, list = list[0].Addr, list[1:]
		}
		out = appendLibraries(out, list, ns.Debug)
	}
	return rsp.LibrariesXML(main, out), nil
}

// libraryDocument lists a part of a namespace; the first entry of a whole one is the
// program.
func libraryDocument(list []image.LinkMap, whole bool, namespace uint64) []byte {
	var main uint64
	if whole && len(list) > 0 {
		main, list = list[0].Addr, list[1:]
	}
	return rsp.LibrariesXML(main, appendLibraries(nil, list, namespace))
}

// appendLibraries leaves out what has no name: those are programs, or data.
func appendLibraries(out []rsp.Library, list []image.LinkMap, namespace uint64) []rsp.Library {
	for _, m := range list {
		if m.Name != "" {
			out = append(out, rsp.Library{Name: m.Name, LinkMap: m.Addr, Base: m.Base, Dynamic: m.Dynamic, Namespace: namespace})
		}
	}
	return out
}

// parseAnnex reads `name=hex;name=hex`.
func parseAnnex(annex string) map[string]uint64 {
	out := map[string]uint64{}
	for _, word := range strings.Split(annex, ";") {
		name, value, _ := strings.Cut(word, "=")
		if n, err := strconv.ParseUint(value, 16, 64); err == nil {
			out[name] = n
		}
	}
	return out
}

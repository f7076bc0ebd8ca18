package export

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"strings"
	"sync"
)

//go:embed page
var pageFiles embed.FS

// pageScripts are the parts of the page's program, in their order.
var pageScripts = []string{"data.js", "filter.js", "table.js", "timeline.js", "running.js", "charts.js", "flame.js", "main.js"}

// pageFrameText is the page before and behind its data. Its policy allows this program and this style, nothing else: no request, no
// other script.
var pageFrameText = sync.OnceValues(func() (head, tail string) {
	part := func(name string) string {
		b, err := pageFiles.ReadFile("page/" + name)
		if err != nil {
			panic("BUG: export: " + err.Error())
		}
		return string(b)
	}
	var script strings.Builder
	script.WriteString("'use strict';\n")
	for _, name := range pageScripts {
		script.WriteString(part(name))
	}
	style := part("page.css")
	policy := "default-src 'none'; base-uri 'none'; form-action 'none'; script-src " + hashOf(script.String()) + "; style-src " + hashOf(style)
	text := strings.NewReplacer("{{policy}}", policy, "{{style}}", style, "{{script}}", script.String()).Replace(part("page.html"))
	head, tail, _ = strings.Cut(text, "{{data}}")
	return head, tail
})

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

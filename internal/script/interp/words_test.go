package interp

import (
	"testing"

	"github.com/jalon-trace/jalon/internal/script/plan"
	"github.com/jalon-trace/jalon/internal/script/words"
)

// TestEveryWord: what the table does not call missing is executed somewhere.
func TestEveryWord(t *testing.T) {
	elsewhere := map[string]bool{"args": true, "argN": true, "str": true, "buf": true}
	for _, w := range words.Words {
		done := w.Constant || elsewhere[w.Name] || here[w.Name] != nil || atHit[w.Name] != nil || inKernel[w.Name] != nil || plan.AtSite(w.Name)
		if !done && w.Missing == "" {
			t.Errorf("%s is executed nowhere, and the table does not say so", w.Name)
		}
		if w.Missing != "" && (here[w.Name] != nil || plan.AtSite(w.Name)) {
			t.Errorf("%s is there, but the table calls it missing: %s", w.Name, w.Missing)
		}
	}
}

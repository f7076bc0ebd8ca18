package record

import (
	"encoding/json"
	"errors"
	"os"

	"github.com/jalon-trace/jalon/internal/ctf"
)

// writeSummary writes how the trace ended, beside the chunks if there are some.
func (w *writer) writeSummary(sum *ctf.Summary) error {
	b, err := json.MarshalIndent(sum, "", "\t")
	if err != nil {
		return err
	}
	if err := w.root.Mkdir(ctf.OwnDirectory, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return w.replace(w.root, file{ctf.OwnDirectory + "/" + ctf.SummaryFile, append(b, '\n')})
}

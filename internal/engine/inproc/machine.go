package inproc

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/ring"
)

// possibleCPUs is the number of CPUs that may ever run the program.
func possibleCPUs() (int, error) {
	n, err := ring.PossibleCPUs()
	var unread *fs.PathError
	if errors.As(err, &unread) {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(0, &set); err != nil {
			return 0, fmt.Errorf("counting the CPUs: %w", err)
		}
		return set.Count(), nil
	}
	return n, err
}

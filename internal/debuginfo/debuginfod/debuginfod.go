// Package debuginfod gets debug files from the servers of DEBUGINFOD_URLS, by elfutils' own client: debuginfod-find has the user's
// settings and shares its cache with GDB and perf.
//
// Import rule: debuginfod imports nothing of jalon.
package debuginfod

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Client asks the servers. It is used by one goroutine.
type Client struct {
	warn   func(string)
	failed string // why no server can be asked; "": they can
	known  map[string]string
}

// New returns a client, nil if the user has no servers (DEBUGINFOD_URLS is empty). warn takes why nothing can be fetched.
func New(warn func(string)) *Client {
	if strings.TrimSpace(os.Getenv("DEBUGINFOD_URLS")) == "" {
		return nil
	}
	return &Client{warn: warn, known: map[string]string{}}
}

// Fetch returns the path of the debug file of a build-id (hexadecimal), "" if no server has it. The file can have any content. A server
// that does not answer delays it by DEBUGINFOD_TIMEOUT (90 seconds).
func (c *Client) Fetch(buildID string) string {
	if c.failed != "" || strings.Trim(buildID, "0123456789abcdef") != "" || buildID == "" {
		return ""
	}
	path, ok := c.known[buildID]
	if !ok {
		path = c.ask(buildID)
		c.known[buildID] = path
	}
	return path
}

func (c *Client) ask(buildID string) string {
	out, err := exec.Command("debuginfod-find", "debuginfo", buildID).Output()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return strings.TrimSuffix(string(out), "\n")
	case errors.As(err, &exit):
		if text := strings.TrimSpace(string(exit.Stderr)); !strings.Contains(text, "No such file or directory") { // what it says of a file that no server has
			c.warn(fmt.Sprintf("debuginfod-find: build-id %s: %s", buildID, text))
		}
	default:
		c.failed = err.Error()
		c.warn(fmt.Sprintf("DEBUGINFOD_URLS is not used: %v (Debian: apt install debuginfod)", err))
	}
	return ""
}

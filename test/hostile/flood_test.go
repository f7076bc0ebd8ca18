package hostile

import (
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// TestFlood: user nobody connects to the gdbserver of root as often as it can. Each connection
// is refused, the reports of it are few, and root's own connection is served meanwhile.
func TestFlood(t *testing.T) {
	asRoot(t)
	testkit.Need(t, "bash")
	target := testkit.Start(t, jalon, "gdbserver", ":0", compile(t, "acts"), "storm").AwaitErr("Listening on port")
	port := regexp.MustCompile(`Listening on port (\d+)`).FindStringSubmatch(target.Errs.String())
	if port == nil {
		t.Fatalf("no port: %s", target.Errs.String())
	}
	flood := asNobody(t, "bash", "-c", "for ((i = 0; ; i++)); do exec {fd}<>/dev/tcp/127.0.0.1/"+port[1]+` || break
		((i % 100 != 99)) || echo "opened $((i + 1))"; exec {fd}>&-; done`).AwaitOut("opened 100")
	c, err := net.Dial("tcp", "127.0.0.1:"+port[1])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answer := make([]byte, 64)
	if _, err := fmt.Fprint(c, "$qSupported#37"); err != nil {
		t.Fatal(err)
	}
	n, err := c.Read(answer)
	if err != nil || !strings.HasPrefix(string(answer[:n]), "+") {
		t.Errorf("the answer to root: %q, %v", answer[:n], err)
	}
	flood.Kill()
	if got := strings.Count(target.Errs.String(), "was refused"); got == 0 || got > 30 {
		t.Errorf("%d refused connections are reported: %s", got, testkit.Tail(target.Errs.String()))
	}
	target.Kill()
}

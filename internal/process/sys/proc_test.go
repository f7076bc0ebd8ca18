package sys

import (
	"os"
	"testing"
)

func TestReadStatus(t *testing.T) {
	st, err := ReadStatus(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if st.TGID != os.Getpid() || st.Uid != os.Geteuid() || st.Tracer != 0 || st.State == 0 || st.Name != CommOf(os.Getpid()) {
		t.Errorf("%+v", st)
	}
}

func FuzzParseStatus(f *testing.F) {
	if b, err := os.ReadFile("/proc/self/status"); err == nil {
		f.Add(string(b))
	}
	f.Fuzz(func(_ *testing.T, text string) { ParseStatus([]byte(text)) })
}

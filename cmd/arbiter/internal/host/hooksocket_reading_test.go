package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	if !written(path, "toolu_1") {
		t.Error("a transcript that is not there is waited for")
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("{}\n")
	if written(path, "toolu_1") {
		t.Error("found what is not there")
	}
	write(strings.Repeat("x", 2*searched) + `{"id":"toolu_1"}` + strings.Repeat("y", searched/2))
	if !written(path, "toolu_1") {
		t.Error("not found near the end")
	}
}

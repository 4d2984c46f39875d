package claude

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCaptures reads every line that the real CLI wrote in recordings (scripts/record): the reader
// understands all of them and knows each kind.
func TestCaptures(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(captures, "*.wire"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	kinds := map[string]int{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(raw)) {
			n++
			text, ok := strings.CutPrefix(line, "< ")
			if !ok {
				continue
			}
			f, err := decode([]byte(strings.TrimSuffix(text, "\n")))
			if err != nil {
				t.Errorf("%s:%d: %v", file, n, err)
				continue
			}
			if u, ok := f.(Unknown); ok {
				t.Errorf("%s:%d: unknown frame %+.200v", file, n, u)
			}
			kinds[kindOf(f)]++
		}
	}
	for _, want := range []string{
		"assistantFrame", "userFrame", "resultFrame", "lifecycleFrame", "controlRequest", "controlResponse",
		"initFrame", "taskStarted", "taskEnded",
	} {
		if kinds[want] == 0 {
			t.Errorf("the captures hold no %s: they show too little (%v)", want, kinds)
		}
	}
}

func kindOf(f frame) string {
	_, name, _ := strings.Cut(fmt.Sprintf("%T", f), ".")
	return name
}

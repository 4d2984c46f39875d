package fakecli

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
)

func TestFaults(t *testing.T) {
	p := corpus.WireProgram{Path: os.Args[0], Env: []string{asStandIn + "=1"}}
	runCases(t, p, corpus.LoadAll(t, filepath.Join("testdata", "faults", "*.txtar")))
}

func TestParseFaults(t *testing.T) {
	f, err := parseFaults("big-line:64M@3, garbage,exit-mid-turn:7", "")
	if err != nil {
		t.Fatal(err)
	}
	f.turn = 3
	if x, ok := f.on("big-line"); !ok || x.number(0) != 64<<20 {
		t.Errorf("big-line in turn 3: %+v, %v", x, ok)
	}
	if _, ok := f.on("exit-mid-turn"); ok {
		t.Error("exit-mid-turn strikes in turn 3, not only in turn 1")
	}
	if !f.is("garbage") {
		t.Error("garbage has ended by turn 3")
	}
	for _, bad := range []string{"no-such-fault", "garbage@0", "garbage@x"} {
		if _, err := parseFaults(bad, ""); err == nil {
			t.Errorf("parseFaults(%q) accepts it", bad)
		}
	}
}

// A message that arrives after the turn began, with no line of the host before it, is not read to its end:
// otherwise its sender would assume that it was read.
func TestReadingStopsInMidLine(t *testing.T) {
	for _, stopReading := range []func(*faults){
		func(f *faults) { f.turn = 1 },
		func(f *faults) { f.readingStopped.Store(true) },
	} {
		f, err := parseFaults("deaf,hang", "")
		if err != nil {
			t.Fatal(err)
		}
		long := strings.Repeat("x", 1<<20)
		r := bufio.NewReader(stoppableReader{strings.NewReader("line\n" + long + "\n"), f})
		if line, err := r.ReadString('\n'); err != nil || line != "line\n" {
			t.Fatalf("before: %q, %v", line, err)
		}
		stopReading(f)
		if line, err := r.ReadString('\n'); !errors.Is(err, errNotReading) || len(line) > r.Size() {
			t.Errorf("%d bytes were read of a line of %d, and then %v", len(line), len(long)+1, err)
		}
	}
}

package standin

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/arbiter-cli/arbiter/rehearsal/standin/wirecase"
)

func TestFaults(t *testing.T) {
	p := wirecase.Program{Path: os.Args[0], Env: []string{asStandIn + "=1"}}
	for _, c := range wirecase.LoadAll(t, filepath.Join("testdata", "faults", "*.txtar")) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			wirecase.Run(t, c, p)
		})
	}
}

func TestParseFaults(t *testing.T) {
	f, err := parseFaults("big-line:64M@3, garbage,exit-mid-turn:7", "")
	if err != nil {
		t.Fatal(err)
	}
	f.turn = 3
	if x, ok := f.now("big-line"); !ok || x.number(0) != 64<<20 {
		t.Errorf("big-line in turn 3: %+v, %v", x, ok)
	}
	if _, ok := f.now("exit-mid-turn"); ok {
		t.Error("exit-mid-turn strikes in turn 3, not only in turn 1")
	}
	if !f.lasting("garbage") {
		t.Error("garbage has ended by turn 3")
	}
	for _, bad := range []string{"no-such-fault", "garbage@0", "garbage@x"} {
		if _, err := parseFaults(bad, ""); err == nil {
			t.Errorf("parseFaults(%q) accepts it", bad)
		}
	}
}

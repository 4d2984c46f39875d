package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestStateOfAnotherVersionIsRefused: a run whose state was written by another version of arbiter is not
// resumed and not changed; its events can still be read.
func TestStateOfAnotherVersionIsRefused(t *testing.T) {
	run := newJournal(t,
		input.Began{Options: runconfig.Options{Run: "0f3b8a52-6d1a-4a0e-9d43-2f1f6a1f0001", Delimiter: "d",
			Task: "Weave", HumanPresent: true}.WithDefaults()},
	)
	state := filepath.Join(os.Getenv("XDG_STATE_HOME"), "arbiter")
	store, err := journal.OpenStore(state)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	opened, _, err := store.Open(run.id, 0, journal.Options{}, func(*journal.Recovered) ([]byte, error) {
		return []byte(`{"v":99,"state":{"Options":"of another shape"}}`), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := opened.Close(); err != nil {
		t.Fatal(err)
	}
	segment := filepath.Join(state, "runs", run.id, "journal-000002")
	before, err := os.ReadFile(segment)
	if err != nil {
		t.Fatal(err)
	}
	_, errs := run.arbiter(contract.ExitEnvironment, "--json", "--resume", "--session", run.id)
	for _, want := range []string{"another version of arbiter", "version 99, of a newer arbiter", "arbiter replay"} {
		if !strings.Contains(errs, want) {
			t.Errorf("the refusal lacks %q: %s", want, errs)
		}
	}
	if after, err := os.ReadFile(segment); err != nil || string(after) != string(before) {
		t.Errorf("the journal was changed: %v", err)
	}
	out, _ := run.arbiter(contract.ExitComplete, "replay", run.id)
	if !strings.Contains(out, `"event":"session"`) {
		t.Errorf("replay: %s", out)
	}
	if out, _ := run.arbiter(contract.ExitComplete, "logs", run.id, "--audit"); !strings.Contains(out, "begun") {
		t.Errorf("audit: %s", out)
	}
}

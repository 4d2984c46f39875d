package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestWindowsAreKept: what one run learns about models, later runs know; a limit that the human gives counts instead.
func TestWindowsAreKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	var none runconfig.Options
	if err := withWindows(&none, dir); err != nil || none.ContextTokensFor != nil {
		t.Fatalf("without a file: %v, %v", none.ContextTokensFor, err)
	}
	for model, tokens := range map[string]int{"far-model": 131_072, "near-model": 64_000, "claude-haiku-4-5": 100_000} {
		testkit.OK(t, keepWindow(dir, model, tokens))
	}
	testkit.OK(t, keepWindow(dir, "near-model", 32_000))
	given := map[string]int{"claude-haiku": 120_000}
	o := runconfig.Options{ContextTokensFor: given}
	testkit.OK(t, withWindows(&o, dir))
	want := map[string]int{"claude-haiku": 120_000, "far-model": 131_072, "near-model": 32_000}
	if diff := cmp.Diff(want, o.ContextTokensFor); diff != "" || len(given) != 1 {
		t.Errorf("limits (-want +got):\n%s%v", diff, given)
	}
	testkit.OK(t, os.WriteFile(filepath.Join(dir, windowsName), []byte("{"), 0o600))
	if err := withWindows(&o, dir); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("a file that is damaged: %v", err)
	}
	testkit.Same(t, "limits over a damaged file", want, o.ContextTokensFor)
}

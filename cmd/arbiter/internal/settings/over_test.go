package settings

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestResumeWithAnotherDecider: options given at a resume replace the original ones, and other options keep their
// values.
func TestResumeWithAnotherDecider(t *testing.T) {
	begun := runconfig.Options{
		Decider: "hybrid", DeciderModel: "m", DeciderEffort: "low", DeciderTimeout: time.Minute, DecisionCache: true,
		MaxTotalFailures: 5,
	}
	now := runconfig.Options{Decider: "rules", DeciderModel: "n", DeciderEffort: "max", DeciderTimeout: time.Hour,
		MaxTotalFailures: 7}
	of := func(o runconfig.Options) []any {
		return []any{o.Decider, o.DeciderModel, o.DeciderEffort, o.DeciderTimeout, o.DecisionCache, o.MaxTotalFailures}
	}
	if d := cmp.Diff(of(begun), of(Choices{Options: now}.Over(begun))); d != "" {
		t.Errorf("nothing was named: %s", d)
	}
	given := map[string]bool{}
	for _, s := range Table {
		given[s.Name] = true
	}
	if d := cmp.Diff(of(now), of(Choices{Options: now, Given: given}.Over(begun))); d != "" {
		t.Errorf("all was named: %s", d)
	}
}

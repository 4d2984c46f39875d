package view

import (
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
)

// TestQuotaInTheStatusLine: the fullest window, how long it lasts if it is nearly used up, and why nothing is sent.
func TestQuotaInTheStatusLine(t *testing.T) {
	noon := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	s := &supervisor.State{}
	if d := SnapshotStatus(s, noon); d.Quota != "" || d.Scarce {
		t.Errorf("told of %q where nothing is known", d.Quota)
	}
	s.Budget.Read("seven_day", 30, noon.Add(48*time.Hour), noon)
	s.Budget.Read("five_hour", 50, noon.Add(3*time.Hour), noon)
	if d := SnapshotStatus(s, noon); d.Quota != "plan 50 %" || d.Scarce {
		t.Errorf("%q, scarce %v", d.Quota, d.Scarce)
	}
	s.Budget.Read("five_hour", 81, noon.Add(3*time.Hour), noon.Add(31*time.Minute))
	if d := SnapshotStatus(s, noon.Add(31*time.Minute)); d.Quota != "plan 81 %, 19 min left" || !d.Scarce {
		t.Errorf("%q, scarce %v", d.Quota, d.Scarce)
	}
	s.Budget.HeldUntil = noon.Add(3 * time.Hour)
	if d := SnapshotStatus(s, noon); !strings.Contains(d.Word, "until Sat 15:00") {
		t.Errorf("the word is %q", d.Word)
	}
	if d := SnapshotStatus(s, noon.Add(4*time.Hour)); d.Quota != "plan 30 %" {
		t.Errorf("after the reset: %q", d.Quota)
	}
}

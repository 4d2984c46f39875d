package host

import (
	"strings"
	"testing"
)

func TestTraceparent(t *testing.T) {
	const outer = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	own := NewTrace("run-1", "").Traceparent("orch-1", 2)
	fields := strings.Split(own, "-")
	if len(fields) != 4 || !isID(fields[1], 32) || !isID(fields[2], 16) || fields[3] != "01" {
		t.Errorf("the agent gets %q", own)
	}
	if again := NewTrace("run-1", "").Traceparent("orch-1", 2); again != own {
		t.Errorf("a resumed run has another trace: %q, then %q", own, again)
	}
	for _, other := range []string{
		NewTrace("run-2", "").Traceparent("orch-1", 2), NewTrace("run-1", "").Traceparent("orch-2", 2),
		NewTrace("run-1", "").Traceparent("orch-1", 3), NewTrace("run-1", outer).Traceparent("orch-1", 2),
	} {
		if other == own {
			t.Errorf("two agents have the span %q", own)
		}
	}
	inherited := NewTrace("run-1", outer)
	got := inherited.Traceparent("orch-1", 2)
	if !strings.HasPrefix(got, outer[:36]) || inherited.parent != outer[36:52] {
		t.Errorf("%q does not go on from %q, below %q", got, outer, inherited.parent)
	}
	if got := NewTrace("run-1", outer[:53]+"00").Traceparent("orch-1", 2); !strings.HasSuffix(got, "-00") {
		t.Errorf("a trace that is not recorded goes on as %q", got)
	}
	for _, bad := range []string{
		"nonsense", "ff" + outer[2:], outer[:50], outer + "-more", strings.ToUpper(outer), outer[:53] + "0x",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
	} {
		if got := NewTrace("run-1", bad).Traceparent("orch-1", 2); got != own {
			t.Errorf("%q counts as a trace: %q", bad, got)
		}
	}
	if got := NewTrace("run-1", "01"+outer[2:]+"-more").Traceparent("orch-1", 2); !strings.HasPrefix(got, outer[:36]) {
		t.Errorf("a later version of the header is not read: %q", got)
	}
}

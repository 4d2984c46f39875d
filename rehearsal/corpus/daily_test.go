package corpus

import "testing"

// TestDailyLines: the list can be read, and has enough lines of both kinds to compare with.
func TestDailyLines(t *testing.T) {
	t.Parallel()
	asks := 0
	lines := DailyLines(t, "../..").Lines
	for _, l := range lines {
		if l.Asks {
			asks++
		}
	}
	if asks < 100 || len(lines)-asks < 100 {
		t.Errorf("%d of %d are asked for", asks, len(lines))
	}
}

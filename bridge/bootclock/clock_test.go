package bootclock

import (
	"testing"
	"time"
)

// TestNow continues as Go's own clock does while the machine is awake.
func TestNow(t *testing.T) {
	before, at := time.Now(), Now()
	if at <= 0 {
		t.Fatalf("it shows %v", at)
	}
	for Now() <= at { // it has a resolution
	}
	if passed, by := Now()-at, time.Since(before); passed > by+time.Second {
		t.Errorf("%v have passed, by Go's clock %v", passed, by)
	}
}

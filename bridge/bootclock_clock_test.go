package bridge

import (
	"testing"
	"time"
)

// TestNow: Now advances like Go's own clock while the machine is awake.
func TestNow(t *testing.T) {
	before, at := time.Now(), BootTime()
	if at <= 0 {
		t.Fatalf("it shows %v", at)
	}
	for BootTime() <= at { // until the clock's next step
	}
	if passed, by := BootTime()-at, time.Since(before); passed > by+time.Second {
		t.Errorf("%v have passed, by Go's clock %v", passed, by)
	}
}

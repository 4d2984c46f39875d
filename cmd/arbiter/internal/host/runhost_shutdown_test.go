package host

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestLastSteps: a step that exceeds its time is reported. For processes left behind, it looks again before.
func TestLastSteps(t *testing.T) {
	for name, told := range map[string]bool{"the journal": true, leftBehind: false} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			err := lastStep{name, time.Second, func(ctx context.Context) error {
				if tries++; tries > 1 {
					return nil
				}
				<-ctx.Done()
				return ctx.Err()
			}}.run()
			if (err != nil) != told {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

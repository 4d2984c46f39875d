package host

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/remote"
)

// TestTransfersAreRetried: a broken connection and a branch that another transfer has moved are not the end of a
// transfer; only the former is waited for.
func TestTransfersAreRetried(t *testing.T) {
	broken := errors.New("the connection was closed")
	moved := fmt.Errorf("fetch from the host: %w", workspaces.ErrMoved)
	for name, tt := range map[string]struct {
		results []error
		want    error
		calls   int
		waited  time.Duration
	}{
		"at once":          {[]error{nil}, nil, 1, 0},
		"moved once":       {[]error{moved, nil}, nil, 2, 0},
		"always moved":     {[]error{moved}, workspaces.ErrMoved, transferAttempts, 0},
		"broken twice":     {[]error{broken, broken, nil}, nil, 3, 3 * transferPause},
		"always broken":    {[]error{broken}, broken, transferAttempts, 7 * transferPause},
		"no such branch":   {[]error{remote.ErrNoBranch}, remote.ErrNoBranch, 1, 0},
		"too large":        {[]error{remote.ErrTooLarge}, remote.ErrTooLarge, 1, 0},
		"moved and broken": {[]error{moved, broken, nil}, nil, 3, transferPause},
	} {
		synctest.Test(t, func(t *testing.T) {
			calls, began := 0, time.Now()
			err := retried(t.Context(), func(context.Context) error {
				calls++
				return tt.results[min(calls, len(tt.results))-1]
			})
			if !errors.Is(err, tt.want) || calls != tt.calls || time.Since(began) != tt.waited {
				t.Errorf("%s: %v after %d calls and %s", name, err, calls, time.Since(began))
			}
		})
	}
}

package runloop

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestGate: the loop asks the gate before each start that loads the workspace's settings, and before no other.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		port := asksBack()
		n := newLiveRun(t, &fakeJournal{}, port)
		var mu sync.Mutex
		var asked, kept []string
		now := "h2"
		n.loop.Trusts(func(_ context.Context, p bridge.SpawnParams, trusted Pinned) error {
			mu.Lock()
			defer mu.Unlock()
			pinned := trusted.Workspace
			asked = append(asked, p.ID+" "+pinned)
			if pinned != now {
				return &Untrusted{Message: "changed", Hash: now}
			}
			return nil
		}, func(_ context.Context, _, hash string) error {
			mu.Lock()
			defer mu.Unlock()
			kept = append(kept, hash)
			return errors.New("no room")
		})
		n.begin(func(o *runconfig.Options) { o.Trusted, o.TrustHash, o.Task = true, "h1", "Build it" })
		synctest.Wait()
		if len(port.starts()) != 0 || len(hearing[contract.Error](n)) != 1 {
			t.Fatalf("starts %v, errors %v", port.starts(), hearing[contract.Error](n))
		}
		n.loop.Put(input.Command{Command: contract.Command{Ref: "1", Body: contract.Choose{Option: "trust"}},
			Channel: input.ChannelStdin})
		time.Sleep(time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]string{"arbiter h1", "arbiter h2"}, asked); diff != "" || len(port.starts()) != 1 ||
			!slices.Equal(kept, []string{"h2"}) {
			t.Errorf("asked %v, starts %v, kept %v", asked, port.starts(), kept)
		}
		n.loop.Put(input.Signal{Signal: "INT"})
		n.over()
	})
	if !loadsWorkspace([]string{"user", "local"}) || loadsWorkspace([]string{"user"}) || loadsWorkspace(nil) {
		t.Error("which sources are the workspace's")
	}
}

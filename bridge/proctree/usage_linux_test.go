package proctree

import (
	"sync"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestUsageBesideTheSweep: Usage works while another goroutine searches for descendants and ends them.
func TestUsageBesideTheSweep(t *testing.T) {
	c, _, _ := begin(t, "hider", Mark{Run: testkit.Run(t)})
	if u := c.Usage(); u.Processes != 2 || u.RSS == 0 {
		t.Errorf("usage: %+v", u)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 10 {
				c.Usage()
				c.Remember()
			}
		})
	}
	kill(t, c)
	all.Wait()
	if u := c.Usage(); u != (Usage{}) {
		t.Errorf("without processes: %+v", u)
	}
}

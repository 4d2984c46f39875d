package tui

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
)

// scrutiny are keys that show where most of the agents' text is, one screen at a time.
var scrutiny = [][]string{{"Esc", "G"}, {"z", "g"}, {"q", "F3"}, {"q", "Alt+1"}, {"q", "F2"}, {"z", "G"},
	{"q", "Esc", "Alt+p"}, {"Esc", "a"}, {"q", "Esc", "i", "/", "t", "o", " "}, {"Esc", "Ctrl+U", "@"},
	{"Esc", "Ctrl+U"}}

// TestModelOutputIsShown: the texts of the corpus in every field of the state, of events and of the
// findings at the start, a few at a time in turn, on the screens that show agents' text. Only arbiter's own
// sequences are sent to the terminal. With -renders each text is tested alone, on all screens.
func TestModelOutputIsShown(t *testing.T) {
	testkit.WithoutRace(t)
	t.Setenv("TERM", "xterm-256color")
	list := corpus.ModelOutput(t, "..")
	group, each, ways := 10, effort(2, 1, 5), scrutiny
	if *renders >= 20_000 {
		group, each, ways = 1, len(wander), wander
	}
	var n atomic.Int64
	looks, bytes := 0, 0
	texts := func() (some []string) {
		from := looks / each * group
		for i := range group { // which of them a field has, changes from picture to picture
			some = append(some, list[(from+(i+looks)%group)%len(list)].Text)
		}
		looks++
		return some
	}
	for seed := uint64(1); looks/each*group < len(list) && !t.Failed(); seed++ {
		synctest.Test(t, func(t *testing.T) {
			bytes += renderTexts(t, seed, hostileSource{rand.New(rand.NewPCG(seed, 9)), nil}, texts, ways, &n, 1<<40)
		})
		if t.Failed() {
			t.Logf("at the latest with %s", list[(looks-1)/each*group%len(list)].Name)
		}
	}
	if int64(bytes) < 200*n.Load() {
		t.Errorf("%d bytes were sent for %d pictures: nothing was shown", bytes, n.Load())
	}
	t.Logf("%d texts, %d looks, %d pictures, %d bytes sent", len(list), looks, n.Load(), bytes)
}

package main

import (
	"fmt"
	"slices"
	"sync"
	"testing"
)

// TestEveryWordIsRemembered: words that are kept at once are all kept.
func TestEveryWordIsRemembered(t *testing.T) {
	h := newHost(env{}, choices{StateDir: t.TempDir()})
	var wg sync.WaitGroup
	var want []string
	for i := range 50 {
		word := fmt.Sprintf("word %02d\n\x1b \xff", i)
		want = append(want, word)
		wg.Go(func() { h.Remember(word) })
	}
	wg.Wait()
	got := h.Inputs()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("remembered are %q", got)
	}
}

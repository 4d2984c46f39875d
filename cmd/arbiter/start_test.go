package main

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestPackagesStartCheaply bounds what the packages of this module allocate before main, which every start pays for:
// a session waits for `arbiter hook` at each of its tool calls. An expression, a template or a large map that is a
// package-level variable belongs into a sync.OnceValue, and a set of a few names into a list.
func TestPackagesStartCheaply(t *testing.T) {
	const (
		mostOfAll = 128 << 10 // bytes
		mostOfOne = 24 << 10
	)
	cmd := exec.Command("arbiter", "hook", "--socket", filepath.Join(t.TempDir(), "nobody"))
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	type initialized struct {
		pkg   string
		bytes int
	}
	var list []initialized
	all := 0
	// Not this package: the variables of its tests are in the same binary.
	line := regexp.MustCompile(`(?m)^init github\.com/arbiter-cli/arbiter/(\S+) .* clock, (\d+) bytes, \d+ allocs$`)
	for _, m := range line.FindAllStringSubmatch(said.String(), -1) {
		if m[1] == "cmd/arbiter" {
			continue
		}
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, initialized{m[1], n})
		all += n
	}
	if len(list) < 10 {
		t.Fatalf("found %d packages in what GODEBUG=inittrace=1 printed: %s", len(list), said.String())
	}
	slices.SortFunc(list, func(a, b initialized) int { return cmp.Compare(b.bytes, a.bytes) })
	if all > mostOfAll || list[0].bytes > mostOfOne {
		t.Errorf("the packages allocate %d bytes before main, at most %d are allowed, and %d in one; most allocate: %v",
			all, mostOfAll, mostOfOne, list[:10])
	}
}

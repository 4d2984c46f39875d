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

// TestPackagesStartCheaply limits what this module's packages allocate before main, since each start pays for
// it: a session waits for `arbiter hook` at each of its tool calls. Put a package-level regular expression,
// template or large map into a sync.OnceValue, and a set of a few names into a slice.
func TestPackagesStartCheaply(t *testing.T) {
	const (
		mostOfAll = 128 << 10 // in bytes
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
	// This package is left out, because the variables of its tests are in the same binary.
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

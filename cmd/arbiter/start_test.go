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

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestPackagesStartCheaply limits what this module's packages allocate before main, since each start pays for
// it: people and scripts wait for every command. Put a package-level regular expression,
// template or large map into a sync.OnceValue, and a set of a few names into a slice.
func TestPackagesStartCheaply(t *testing.T) {
	const (
		mostOfAll = 128 << 10 // in bytes
		mostOfOne = 24 << 10
	)
	output := initialized(t, "version")
	type cost struct {
		pkg   string
		bytes int
	}
	var list []cost
	all := 0
	// This package is left out, because the variables of its tests are in the same binary.
	line := regexp.MustCompile(`(?m)^init github\.com/arbiter-cli/arbiter/(\S+) .* clock, (\d+) bytes, \d+ allocs$`)
	for _, m := range line.FindAllStringSubmatch(output, -1) {
		if m[1] == "cmd/arbiter" {
			continue
		}
		n := testkit.Must(strconv.Atoi(m[2]))(t)
		list = append(list, cost{m[1], n})
		all += n
	}
	if len(list) < 10 {
		t.Fatalf("found %d packages in what GODEBUG=inittrace=1 printed: %s", len(list), output)
	}
	slices.SortFunc(list, func(a, b cost) int { return cmp.Compare(b.bytes, a.bytes) })
	if all > mostOfAll || list[0].bytes > mostOfOne {
		t.Errorf("the packages allocate %d bytes before main, at most %d are allowed, and %d in one; most allocate: %v",
			all, mostOfAll, mostOfOne, list[:10])
	}
}

// TestHookStartsEarly: `arbiter hook`, for which a session waits at each tool call, answers before main and before
// the packages that take longest to initialize. See package hookclient.
func TestHookStartsEarly(t *testing.T) {
	output := initialized(t, "hook", "--socket", filepath.Join(t.TempDir(), "nobody"))
	if !strings.Contains(output, "init net @") {
		t.Fatalf("package net, which a hook uses, is not initialized: %s", output)
	}
	for _, late := range []string{"main", "net/http", "github.com/modelcontextprotocol/go-sdk/mcp",
		"github.com/yuin/goldmark/parser", "github.com/yuin/goldmark/extension", "github.com/urfave/cli/v2"} {
		if strings.Contains(output, "init "+late+" @") {
			t.Errorf("%s is initialized before a hook is answered", late)
		}
	}
	if all := initialized(t, "version"); !strings.Contains(all, "init net/http @") {
		t.Errorf("`arbiter version` does not initialize net/http: %s", all)
	}
}

// initialized runs arbiter, and returns what the runtime prints about each package that it initializes.
func initialized(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("arbiter", args...)
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var output strings.Builder
	cmd.Stderr = &output
	testkit.OK(t, cmd.Run())
	return output.String()
}

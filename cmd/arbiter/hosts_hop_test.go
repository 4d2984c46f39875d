package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/internal/hosts"
	"github.com/arbiter-cli/arbiter/internal/hosts/hosttest"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
)

// TestCostOfAHop measures the cost of a host's bridge, over ssh and through a local command in the same run:
// the time to start it, the time of a request, and its memory. It has no limits to fail by; docs/hosts.md has
// the results.
func TestCostOfAHop(t *testing.T) {
	if !testkit.AtNight() {
		t.Skip("with ARBITER_LONG=1")
	}
	dir := gittest.Temp(t)
	for _, d := range []string{"bin", "home"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	equip(t, filepath.Join(dir, "bin"), "")
	ssh := hosttest.NewSSH(t)
	equip(t, ssh.Bin, "")
	for _, h := range []hosts.Host{
		{Name: "local", Command: []string{"env", "-i", "HOME=" + dir + "/home",
			"PATH=" + dir + "/bin:/usr/local/bin:/usr/bin:/bin"}},
		{Name: "ssh", Command: ssh.Command},
	} {
		run := uuid.NewString()
		o := host.Opening{Host: h, Run: run, Version: command.Version(), Lease: time.Minute,
			Handler: host.NoHandler{}}
		began := time.Now()
		client, _, err := o.Open(t.Context(), func(c *bridge.Client) { t.Cleanup(func() { _ = c.Close() }) })
		if err != nil {
			t.Fatal(err)
		}
		opened := time.Since(began)
		took := make([]time.Duration, 0, 500)
		for range cap(took) {
			began := time.Now()
			if _, err := client.Resolve(t.Context(), bridge.ResolveParams{Paths: []string{"/"}}); err != nil {
				t.Fatal(err)
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		t.Logf("%s: opened in %s, a request takes p50 %s, p99 %s; memory %s", h.Name, opened.Round(time.Millisecond),
			took[len(took)/2], took[len(took)*99/100], memoryOf(t, run))
	}
}

// memoryOf returns the proportional set size of each process of a run, and of the keepers above its bridges.
func memoryOf(t *testing.T, run string) string {
	t.Helper()
	found := survivors(run)
	for pid, cmd := range survivors(run) {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if strings.Contains(cmd, "--remote") && len(fields) > 1 {
			parent, _ := strconv.Atoi(fields[1])
			above, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", parent))
			if strings.Contains(string(above), "--remote") {
				found[parent] = strings.ReplaceAll(string(above), "\x00", " ")
			}
		}
	}
	var all []string
	for pid, cmd := range found {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(raw), "\nPss:")
		kib, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
		all = append(all, fmt.Sprintf("%s KiB in %.40s", kib, filepath.Base(strings.Fields(cmd)[0])))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/internal/git"
	"github.com/arbiter-cli/arbiter/internal/hosts"
	"github.com/arbiter-cli/arbiter/internal/hosts/hosttest"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/internal/workspace/remote"
)

// TestWorkOnAHost: a commit is pushed to a host, a directory is made from it there, and the work done in it
// comes back, even if the link was reset meanwhile and the host was opened again.
func TestWorkOnAHost(t *testing.T) {
	ssh := hosttest.NewSSH(t)
	equip(t, ssh.Bin, "")
	near := gittest.New(t, map[string]string{"a": "1"})
	base := near.Git("rev-parse", "HEAD")
	repo, err := workspaces.Open(t.Context(), workspaces.Options{Dir: near.Path, Run: gittest.Run, Env: gittest.Environ(),
		Scratch: gittest.Temp(t)})
	testkit.OK(t, err)
	theHost := hosts.Host{Name: "box", Command: ssh.Command}
	open := func() (*bridge.Client, *bridge.RemoteInfo) {
		t.Helper()
		client, init, err := host.Opening{Host: theHost, Run: gittest.Run, Version: command.Version(), Lease: time.Minute,
			Handler: host.NoHandler{}}.Open(t.Context(), func(c *bridge.Client) { t.Cleanup(func() { _ = c.Close() }) })
		testkit.OK(t, err)
		return client, init.Remote
	}
	client, there := open()
	url := testkit.Must(theHost.GitURL(there.Cache, git.Serving()...))(t)
	link := remote.Link{Repo: repo, URL: url, Env: os.Environ()}
	testkit.Must(link.Push(t.Context(), base))(t)
	work := bridge.PrepareWorkParams{Orchestrator: 1, Generation: 1, Kind: "worktree", Base: base}
	w := testkit.Must(client.PrepareWork(t.Context(), work))(t)
	if !strings.HasPrefix(w.Dir, there.Dir+"/"+gittest.RUN8+"/orch-1") {
		t.Errorf("its directory is %s", w.Dir)
	}
	ssh.Run("echo 2 > " + w.Dir + "/b")

	ssh.Relay.Reset()
	<-client.Done()
	client, _ = open() // ends the bridge before it, if it still runs
	if again, err := client.PrepareWork(t.Context(), work); err != nil || again.Dir != w.Dir {
		t.Errorf("prepared again: %+v, %v", again, err)
	}
	committed := testkit.Must(client.CommitWork(t.Context(), bridge.CommitWorkParams{Orchestrator: 1, Message: "work"}))(t)
	got, err := link.Fetch(t.Context(), "refs/heads/"+w.Branch)
	if err != nil || got.Commit != committed.Head {
		t.Fatalf("fetched %+v, %v; committed %+v", got, err, committed)
	}
	if text := near.Git("show", w.Branch+":b"); text != "2" {
		t.Errorf("b is %q", text)
	}
}

package runhost

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runfiles"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/remote"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// hostWork implements [runfiles.Far]: it moves the work of agents between this repository and other hosts.
type hostWork struct{ r *runtimeRun }

var _ runfiles.Far = hostWork{}

// Lives implements [runfiles.Far].
func (w hostWork) Lives(agent string) bool { return w.agent(agent).Host != lifecycle.Here }

func (w hostWork) agent(id string) roster.Agent {
	a, _ := w.r.loop.Snapshot().Agent(id)
	return a
}

// reach is an agent with the bridge of its host, and the way to the repository there.
func (w hostWork) reach(
	ctx context.Context, repo *workspaces.Repo, agent string,
) (*hostBridge, remote.Link, int, error) {
	var n int
	if _, err := fmt.Sscanf(agent, "orch-%d", &n); err != nil {
		return nil, remote.Link{}, 0, fmt.Errorf("%q is no Orchestrator", agent)
	}
	host := w.agent(agent).Host
	usable, release := w.r.untilParked(ctx, host)
	defer release()
	h, err := w.r.hosts.await(usable, host)
	if err != nil {
		return nil, remote.Link{}, 0, err
	}
	url, err := h.host.GitURL(h.info.Cache)
	return h, remote.Link{Repo: repo, URL: url, Env: os.Environ()}, n, err
}

// Prepare implements [runfiles.Far].
func (w hostWork) Prepare(
	ctx context.Context, repo *workspaces.Repo, p runconfig.Place, base string,
) (runconfig.Worktree, error) {
	h, link, n, err := w.reach(ctx, repo, p.Agent)
	if err != nil {
		return runconfig.Worktree{}, err
	}
	if err := h.push(ctx, link, base); err != nil {
		return runconfig.Worktree{}, err
	}
	work, err := h.client.PrepareWork(ctx, bridge.PrepareWorkParams{
		Orchestrator: n, Generation: p.Generation, Kind: p.Kind, Base: base, Subdir: repo.Prefix,
	})
	if err != nil {
		return runconfig.Worktree{}, err
	}
	w.r.hosts.worksIn(h, p.Agent, work)
	return runconfig.Worktree{Branch: work.Branch, Base: work.Base, Isolation: work.Kind}, nil
}

// Bring implements [runfiles.Far].
func (w hostWork) Bring(
	ctx context.Context, repo *workspaces.Repo, agent, message string,
) (b runfiles.Brought, err error) {
	err = throughLosses(func() error {
		b, err = w.bring(ctx, repo, agent, message)
		return err
	})
	return b, err
}

func (w hostWork) bring(ctx context.Context, repo *workspaces.Repo, agent, message string) (runfiles.Brought, error) {
	b := runfiles.Brought{Worktree: w.agent(agent).Own}
	h, link, n, err := w.reach(ctx, repo, agent)
	if err != nil {
		return b, err
	}
	done, err := h.client.CommitWork(ctx, bridge.CommitWorkParams{Orchestrator: n, Message: message})
	if err != nil {
		return b, err
	}
	b.Branch = done.Branch
	err = h.transfer(ctx, func(ctx context.Context) error {
		fetched, err := link.Fetch(ctx, "refs/heads/"+done.Branch)
		b.Head = fetched.Commit
		return err
	})
	if err != nil {
		return b, err
	}
	made, err := repo.Commit(ctx, b.Head) // the host's word for what it holds is not taken
	b.Tree = made.Tree
	return b, err
}

// Remove implements [runfiles.Far].
func (w hostWork) Remove(ctx context.Context, repo *workspaces.Repo, agent, head string) error {
	h, _, n, err := w.reach(ctx, repo, agent)
	if err != nil {
		return err
	}
	_, err = h.client.RemoveWork(ctx, bridge.RemoveWorkParams{Orchestrator: n, Head: head})
	return err
}

// removeOnHosts removes the directories of Orchestrators on other hosts, in a run that is complete, and says which had
// to stay there. Nobody works in them any more, and the bridges are still open. Hosts are visited at the same time.
func (r *runtimeRun) removeOnHosts(ctx context.Context) (said []string) {
	s := r.loop.Snapshot()
	dirs, agents := s.Dirs(), map[string][]string{}
	for _, a := range s.Agents {
		if a.Host != lifecycle.Here && a.Own.Branch != "" {
			agents[a.Host] = append(agents[a.Host], a.ID)
		}
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, host := range slices.Sorted(maps.Keys(agents)) {
		h := r.hosts.of(host)
		reachable := h != nil && h.open && h.alive()
		all.Go(func() {
			for _, agent := range agents[host] {
				text := ""
				where := fmt.Sprintf("in %s on host %s", dirs.Of(agent), host)
				if reachable {
					text = r.files.RemoveFar(ctx, agent, where)
				} else {
					text = fmt.Sprintf("the directory of %s was left %s, which is out of reach", agent, where)
				}
				if text != "" {
					mu.Lock()
					said = append(said, text)
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	slices.Sort(said)
	return said
}

// Give implements [runfiles.Far].
func (w hostWork) Give(ctx context.Context, repo *workspaces.Repo, agent, commit string) error {
	return throughLosses(func() error {
		h, link, _, err := w.reach(ctx, repo, agent)
		if err != nil {
			return err
		}
		return h.push(ctx, link, commit)
	})
}

// push gives a host a commit.
func (h *hostBridge) push(ctx context.Context, link remote.Link, commit string) error {
	return h.transfer(ctx, func(ctx context.Context) error {
		_, err := link.Push(ctx, commit)
		return err
	})
}

// Git has a connection to a host of its own for each transfer, which can break while the bridge runs.
const (
	transferAttempts = 4
	transferPause    = time.Second // before the second attempt; it doubles
)

// transfer moves commits to or from a host. What a broken connection ended is tried again. The end of the bridge ends
// the transfer, with an error that wraps [bridge.ErrClosed].
func (h *hostBridge) transfer(ctx context.Context, move func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-h.client.Done():
			cancel(bridge.ErrClosed)
		case <-ctx.Done():
		}
	})
	defer watch.Wait()
	defer cancel(nil)
	pause := transferPause
	for attempt := 1; ; attempt++ {
		err := move(ctx)
		final := err == nil || attempt == transferAttempts || errors.Is(err, remote.ErrNoBranch) ||
			errors.Is(err, remote.ErrTooLarge) || errors.Is(err, workspaces.ErrMoved)
		if final && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), bridge.ErrClosed) {
				return fmt.Errorf("host %s: %w", h.host.Name, bridge.ErrClosed)
			}
			return err
		case <-time.After(pause):
			pause *= 2
		}
	}
}

// throughLosses does something with an agent's host, and again when the bridge of it was lost meanwhile and another has
// taken its place, until ctx ends.
func throughLosses(do func() error) error {
	for {
		if err := do(); !errors.Is(err, bridge.ErrClosed) {
			return err
		}
	}
}

package host

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/remote"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// hostWork implements [runstore.FarFiles]: it moves the work of agents between this repository and other hosts.
type hostWork struct{ b *Bridges }

var _ runstore.FarFiles = hostWork{}

// Work moves the work of agents between the repository of the run and the hosts.
func (b *Bridges) Work() runstore.FarFiles { return hostWork{b} }

// IsRemote implements [runstore.FarFiles].
func (w hostWork) IsRemote(agent string) bool { return w.agent(agent).Host != supervisor.LifecycleHere }

func (w hostWork) agent(id string) supervisor.Agent {
	a, _ := w.b.run.Loop.Snapshot().Agent(id)
	return a
}

// reach returns the bridge of an agent's host, the link to the repository there, and the number of the agent.
func (w hostWork) reach(
	ctx context.Context, repo *workspaces.Repo, agent string,
) (*hostBridge, remote.Link, int, error) {
	var n int
	if _, err := fmt.Sscanf(agent, "orch-%d", &n); err != nil {
		return nil, remote.Link{}, 0, fmt.Errorf("%q is not an Orchestrator", agent)
	}
	host := w.agent(agent).Host
	usable, release := w.b.untilParked(ctx, host)
	defer release()
	h, err := w.b.await(usable, host)
	if err != nil {
		return nil, remote.Link{}, 0, err
	}
	url, err := h.host.GitURL(h.info.Cache)
	return h, remote.Link{Repo: repo, URL: url, Env: os.Environ()}, n, err
}

// Prepare implements [runstore.FarFiles].
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
	w.b.worksIn(h, p.Agent, work)
	return runconfig.Worktree{Branch: work.Branch, Base: work.Base, Isolation: work.Kind}, nil
}

// Bring implements [runstore.FarFiles].
func (w hostWork) Bring(
	ctx context.Context, repo *workspaces.Repo, agent, message string,
) (b runstore.Brought, err error) {
	err = throughLosses(func() error {
		b, err = w.bring(ctx, repo, agent, message)
		return err
	})
	return b, err
}

func (w hostWork) bring(ctx context.Context, repo *workspaces.Repo, agent, message string) (runstore.Brought, error) {
	b := runstore.Brought{Worktree: w.agent(agent).Own}
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
	made, err := repo.Commit(ctx, b.Head) // read from this repository: do not trust the host's answer
	b.Tree = made.Tree
	return b, err
}

// Remove implements [runstore.FarFiles].
func (w hostWork) Remove(ctx context.Context, repo *workspaces.Repo, agent, head string) error {
	h, _, n, err := w.reach(ctx, repo, agent)
	if err != nil {
		return err
	}
	_, err = h.client.RemoveWork(ctx, bridge.RemoveWorkParams{Orchestrator: n, Head: head})
	return err
}

// Give implements [runstore.FarFiles].
func (w hostWork) Give(ctx context.Context, repo *workspaces.Repo, agent, commit string) error {
	return throughLosses(func() error {
		h, link, _, err := w.reach(ctx, repo, agent)
		if err != nil {
			return err
		}
		return h.push(ctx, link, commit)
	})
}

// throughLosses calls do, and calls it again with the next bridge when the bridge was lost meanwhile, until ctx
// ends.
func throughLosses(do func() error) error {
	for {
		if err := do(); !errors.Is(err, bridge.ErrClosed) {
			return err
		}
	}
}

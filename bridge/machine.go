package bridge

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Machine is the host of a remote bridge: its file system, and the directories of agents. A [Server]
// without a Machine refuses to be remote. Its methods are safe for concurrent use.
type Machine interface {
	// Begin is called once, before any other method. Failures are *RPCError with a category.
	Begin(ctx context.Context, of Owner, p RemoteParams) (RemoteInfo, error)
	// Resolve returns an entry for each path, in order.
	Resolve(ctx context.Context, paths []string) []ResolvedPath
	Inventory(ctx context.Context, p InventoryParams) (InventoryResult, error)
	PrepareWork(ctx context.Context, p PrepareWorkParams) (WorkResult, error)
	CommitWork(ctx context.Context, p CommitWorkParams) (CommitWorkResult, error)
	RemoveWork(ctx context.Context, p RemoveWorkParams) (RemoveWorkResult, error)
}

// Bounds of a client's requests to a host.
const (
	maxResolved   = 10_000
	maxPathLength = 16 << 10
	minLeaseMS    = 1_000
	maxLeaseMS    = 24 * 60 * 60 * 1_000
)

func (p *RemoteParams) check() error {
	if p == nil {
		return nil
	}
	if p.LeaseMS < minLeaseMS || p.LeaseMS > maxLeaseMS {
		return fmt.Errorf("remote.lease_ms: want %d to %d, not %d", minLeaseMS, maxLeaseMS, p.LeaseMS)
	}
	if p.Dir != "" && !filepath.IsAbs(p.Dir) && p.Dir != "~" && !strings.HasPrefix(p.Dir, "~/") {
		return fmt.Errorf("remote.dir is neither absolute nor below ~: %.100q", p.Dir)
	}
	if err := checkEnv(p.PassEnv); err != nil {
		return fmt.Errorf("remote.pass_%w", err)
	}
	return required("remote.version", p.Version)
}

func (p ResolveParams) check() error {
	if len(p.Paths) > maxResolved {
		return fmt.Errorf("paths: %d are too many; the limit is %d", len(p.Paths), maxResolved)
	}
	for _, path := range p.Paths {
		if !filepath.IsAbs(path) || len(path) > maxPathLength || strings.ContainsRune(path, 0) {
			return fmt.Errorf("paths: this is not an absolute path: %.100q", path)
		}
	}
	return nil
}

func (p InventoryParams) check() error {
	if !filepath.IsAbs(p.Dir) {
		return fmt.Errorf("dir is not absolute: %.100q", p.Dir)
	}
	return nil
}

func (p PrepareWorkParams) check() error {
	switch {
	case p.Orchestrator < 1, p.Generation < 1:
		return errors.New("orchestrator and generation count from 1")
	case p.Kind != "worktree" && p.Kind != "clone":
		return fmt.Errorf("kind: want worktree or clone, not %.40q", p.Kind)
	case p.Subdir != "" && !filepath.IsLocal(p.Subdir):
		return fmt.Errorf("subdir is not below the work tree: %.100q", p.Subdir)
	}
	return checkCommit("base", p.Base)
}

// checkCommit keeps branch names and options out of git's arguments.
func checkCommit(name, id string) error {
	if n := len(id); n != 40 && n != 64 || strings.Trim(id, "0123456789abcdef") != "" {
		return fmt.Errorf("%s is not a commit: %.100q", name, id)
	}
	return nil
}

func (p CommitWorkParams) check() error {
	if p.Orchestrator < 1 {
		return errors.New("orchestrator counts from 1")
	}
	return required("message", p.Message)
}

func (p RemoveWorkParams) check() error {
	if p.Orchestrator < 1 {
		return errors.New("orchestrator counts from 1")
	}
	if p.Head == "" {
		return nil
	}
	return checkCommit("head", p.Head)
}

// onMachine makes a handler from a method of the host.
func onMachine[P, R any](c *conversation, name string, ask func(Machine, context.Context, P) (R, error)) handlerFunc {
	return method(func(ctx context.Context, p P) (R, error) {
		return inquire(ctx, c.onHost, name, func(ctx context.Context) (R, error) { return ask(c.machine, ctx, p) })
	})
}

// Resolve returns where paths lead on the bridge's host.
func (c *Client) Resolve(ctx context.Context, p ResolveParams) (ResolveResult, error) {
	r, err := call[ResolveResult](ctx, c, MethodResolve, p)
	if err == nil && len(r.Paths) != len(p.Paths) {
		return ResolveResult{}, fmt.Errorf("%s: the bridge answered %d of %d questions", MethodResolve, len(r.Paths),
			len(p.Paths))
	}
	return r, err
}

// Inventory describes the workspace of a directory on the bridge's host.
func (c *Client) Inventory(ctx context.Context, p InventoryParams) (InventoryResult, error) {
	return call[InventoryResult](ctx, c, MethodInventory, p)
}

// PrepareWork creates the directory of an Orchestrator on the bridge's host, or finds it.
func (c *Client) PrepareWork(ctx context.Context, p PrepareWorkParams) (WorkResult, error) {
	r, err := call[WorkResult](ctx, c, MethodPrepareWork, p)
	if err == nil {
		err = c.refuse(c.placed.work(p.Orchestrator, r.Branch, r.Dir, r.CWD))
	}
	return r, err
}

// CommitWork commits what is uncommitted in the directory of an Orchestrator.
func (c *Client) CommitWork(ctx context.Context, p CommitWorkParams) (CommitWorkResult, error) {
	r, err := call[CommitWorkResult](ctx, c, MethodCommitWork, p)
	if err == nil {
		err = c.refuse(c.placed.work(p.Orchestrator, r.Branch))
	}
	return r, err
}

// refuse ends the connection if there is a violation.
func (c *Client) refuse(violation error) error {
	if violation != nil {
		c.p.s.fail(violation)
	}
	return violation
}

// RemoveWork saves and removes the directory of an Orchestrator.
func (c *Client) RemoveWork(ctx context.Context, p RemoveWorkParams) (RemoveWorkResult, error) {
	return call[RemoveWorkResult](ctx, c, MethodRemoveWork, p)
}

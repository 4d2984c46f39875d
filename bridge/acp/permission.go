package acp

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
)

// acceptEdits is the permission mode in which edits inside of the workspace are not asked about.
const acceptEdits = "acceptEdits"

// RequestPermission implements sdk.Client. Every answer but a clear allow is a deny, and options are chosen by their
// kind: their ids and their order differ between makes.
func (a *agent) RequestPermission(ctx context.Context, p sdk.RequestPermissionRequest) (
	sdk.RequestPermissionResponse, error) {
	c, asking := a.requested(p)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(asking, cancel)()
	allowed := a.allows(ctx, c)
	if asking.Err() != nil {
		return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeCancelled()}, nil
	}
	kind := sdk.PermissionOptionKindRejectOnce
	if allowed {
		kind = sdk.PermissionOptionKindAllowOnce
	} else {
		a.mu.Lock()
		a.callOf(c.id).denied = true
		a.mu.Unlock()
	}
	i := slices.IndexFunc(p.Options, func(o sdk.PermissionOption) bool { return o.Kind == kind })
	if i < 0 {
		if allowed {
			a.mu.Lock()
			a.notice("no "+string(kind), "it offers no way to allow a call once, so the call is denied")
			a.tell()
		}
		return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeCancelled()}, nil
	}
	return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeSelected(p.Options[i].OptionId)}, nil
}

// describeGrace is how long a request waits for the update that describes its call.
const describeGrace = 2 * time.Second

// requested returns the call that a request is about, and the context in which its answer is awaited. Some makes
// describe a call only in the request, others only in an update: opencode 1.18.33 names no file in the request to read
// one. That update may follow the request.
func (a *agent) requested(p sdk.RequestPermissionRequest) (call, context.Context) {
	u := p.ToolCall
	a.mu.Lock()
	defer a.tell()
	c := a.callOf(string(u.ToolCallId))
	asking := a.asking
	if a.traits.toolsFlag != "" { // the request leaves out whose tool it is
		a.awaitInput(c, asking)
		if c.title != "" {
			u.Title = nil
		}
	}
	c.learn(sdk.SessionToolCallUpdate{Meta: u.Meta, Content: u.Content, Kind: u.Kind, Locations: u.Locations,
		RawInput: u.RawInput, Title: u.Title, ToolCallId: u.ToolCallId}, a.traits.toolMeta)
	if c.own(a.tools.names) == "" {
		a.awaitInput(c, asking)
	}
	a.report(c)
	return *c, asking
}

// awaitInput waits until the input of a call is known, if it is going to be. Called with the lock held, which it
// releases meanwhile.
func (a *agent) awaitInput(c *call, asking context.Context) {
	known := c.known
	if known == nil {
		return
	}
	late := time.NewTimer(describeGrace)
	defer late.Stop()
	a.mu.Unlock()
	defer a.mu.Lock()
	select {
	case <-known:
	case <-late.C:
	case <-asking.Done():
	}
}

// allows decides about a call: our own tools may be called, the client's rules can deny, what is read inside of the
// directory needs no human, and everything else does.
func (a *agent) allows(ctx context.Context, c call) bool {
	if c.own(a.tools.names) != "" {
		return true
	}
	tool, input := c.claude(a.tools.names)
	inputs := []json.RawMessage{input}
	if files := c.files(); len(files) > 1 && tool != "Bash" {
		for _, path := range files[1:] {
			inputs = append(inputs, encode(map[string]any{"file_path": path}))
		}
	}
	passes, reason := true, ""
	for _, in := range inputs {
		judged, err := a.Host.Judge(ctx, bridge.JudgeParams{AgentRef: a.Ref, Tool: tool, Input: in, ToolUse: c.id,
			CWD: a.Config.CWD})
		if err != nil || judged.Behavior != bridge.Pass && judged.Behavior != bridge.Ask {
			return false
		}
		if judged.Behavior == bridge.Ask {
			passes, reason = false, judged.Message
		}
	}
	if passes && a.inMode(c) {
		return true
	}
	r, err := a.Host.Permission(ctx, bridge.PermissionParams{AgentRef: a.Ref, Request: "perm-" + uuid.NewString(),
		Tool: tool, Input: input, ToolUse: c.id, Reason: reason, CWD: a.Config.CWD})
	return err == nil && r.Behavior == bridge.Allow
}

// inMode reports whether the permission mode lets a call run that no rule is about.
func (a *agent) inMode(c call) bool {
	a.mu.Lock()
	mode := a.mode
	a.mu.Unlock()
	switch {
	case mode == bridge.BypassPermissions:
		return true
	case c.kind == sdk.ToolKindRead || c.kind == sdk.ToolKindSearch:
		return a.inside(c)
	case c.kind == sdk.ToolKindEdit:
		return mode == acceptEdits && a.inside(c)
	}
	return false
}

// inside reports whether all files of a call are in the agent's directory, which a search is in that names none; links
// are followed. An edit of something hidden is not: programs obey .git, .envrc, .vscode and others of the kind.
func (a *agent) inside(c call) bool {
	files := c.files()
	if len(files) == 0 && c.kind != sdk.ToolKindSearch {
		return false
	}
	if c.kind != sdk.ToolKindEdit { // the input of an edit has the text, too
		files = append(files, paths(c.input)...)
	}
	for _, path := range files {
		if strings.HasPrefix(path, "~") {
			return false
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(a.Config.CWD, path)
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		} else if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			path = filepath.Join(dir, filepath.Base(path)) // a new file
		} else {
			return false
		}
		rel, err := filepath.Rel(a.realCWD, path)
		if err != nil || rel == ".." || strings.HasPrefix(rel, "../") ||
			c.kind == sdk.ToolKindEdit && strings.Contains("/"+rel, "/.") {
			return false
		}
	}
	return true
}

// notServed answers what this client does not offer: the agent would act outside of its sandbox.
func notServed(method string) error { return sdk.NewMethodNotFound(method) }

func (a *agent) ReadTextFile(context.Context, sdk.ReadTextFileRequest) (r sdk.ReadTextFileResponse, err error) {
	return r, notServed("fs/read_text_file")
}

func (a *agent) WriteTextFile(context.Context, sdk.WriteTextFileRequest) (r sdk.WriteTextFileResponse, err error) {
	return r, notServed("fs/write_text_file")
}

func (a *agent) CreateTerminal(context.Context, sdk.CreateTerminalRequest) (r sdk.CreateTerminalResponse, err error) {
	return r, notServed("terminal/create")
}

func (a *agent) KillTerminal(context.Context, sdk.KillTerminalRequest) (r sdk.KillTerminalResponse, err error) {
	return r, notServed("terminal/kill")
}

func (a *agent) TerminalOutput(context.Context, sdk.TerminalOutputRequest) (r sdk.TerminalOutputResponse, err error) {
	return r, notServed("terminal/output")
}

func (a *agent) ReleaseTerminal(context.Context, sdk.ReleaseTerminalRequest) (r sdk.ReleaseTerminalResponse,
	err error) {
	return r, notServed("terminal/release")
}

func (a *agent) WaitForTerminalExit(context.Context, sdk.WaitForTerminalExitRequest) (
	r sdk.WaitForTerminalExitResponse, err error) {
	return r, notServed("terminal/wait_for_exit")
}

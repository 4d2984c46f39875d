package acp

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/driver"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestFailures: a failed prompt is sorted by the status in its text, not by digits that an id or a port has.
func TestFailures(t *testing.T) {
	for text, want := range map[string]bridge.Category{
		"API Error: 401 no key": bridge.CatAuth, "HTTP 429": bridge.CatRateLimit, "Overloaded": bridge.CatOverloaded,
		"context_length_exceeded": bridge.CatPromptTooLong, "connect ECONNREFUSED 127.0.0.1:4013": bridge.CatServer,
		"500 Internal Server Error (request req_0403x)": bridge.CatServer,
	} {
		got, _ := failure(errors.New(text))
		testkit.Same(t, text, want, got)
	}
}

// TestOwnTools: only a call whose whole name is that of one of Arbiter's tools needs no judgement.
func TestOwnTools(t *testing.T) {
	names := map[string]bool{"report_progress": true}
	for _, c := range []struct {
		title string
		kind  sdk.ToolKind
		own   bool
	}{
		{"arbiter_report_progress", sdk.ToolKindOther, true},
		{"arbiter-report_progress", "", true},
		{"mcp__arbiter__report_progress", sdk.ToolKindOther, true},
		{"mcp_arbiter_report_progress", sdk.ToolKindOther, true},
		{"arbiter_report_progress", sdk.ToolKindExecute, false},    // the title of a command
		{"/tmp/arbiter_report_progress", sdk.ToolKindOther, false}, // of a directory
		{"other_arbiter_report_progress", sdk.ToolKindOther, false},
		{"rm -r x; arbiter_report_progress", "", false},
		{"arbiter_report_progress_and_more", sdk.ToolKindOther, false},
		{"report_progress (arbiter MCP Server)", sdk.ToolKindOther, true},
		{"report_progress (arbiter MCP Server)", sdk.ToolKindExecute, false},
		{"rm x; report_progress (arbiter MCP Server)", sdk.ToolKindOther, false},
	} {
		x := call{title: c.title, kind: c.kind}
		testkit.Same(t, c.title, c.own, x.own(names) != "")
	}
}

// TestMarkedCalls: a make that marks calls to MCP servers shows them as commands: they are judged by the server's name
// and the tool's. An input that only looks like one is that of a command.
func TestMarkedCalls(t *testing.T) {
	names := map[string]bool{"report_progress": true}
	input := func(server string) map[string]any {
		return map[string]any{"server": server, "tool": "report_progress", "arguments": map[string]any{"a": 1.0}}
	}
	for _, c := range []struct {
		server, tool, input string
		marked, own         bool
	}{
		{"arbiter", "mcp__arbiter__report_progress", `{"a":1}`, true, true},
		{"other", "mcp__other__report_progress", `{"a":1}`, true, false},
		{"arbiter", "Bash", `{"command":"x"}`, false, false},
	} {
		x := call{title: "x"}
		x.learn(sdk.SessionToolCallUpdate{Kind: sdk.Ptr(sdk.ToolKindExecute), RawInput: input(c.server),
			Meta: map[string]any{"marked": c.marked}}, "marked")
		x.learn(sdk.SessionToolCallUpdate{Kind: sdk.Ptr(sdk.ToolKindExecute)}, "marked") // its request
		tool, in := x.claude(names)
		testkit.Same(t, "tool", c.tool, tool)
		testkit.Same(t, "input", c.input, string(in))
		testkit.Same(t, "own", c.own, x.own(names) != "")
	}
}

// TestWhatNeedsNoHuman: a call that no rule is about needs no answer only if it surely stays in the directory, and
// edits nothing that programs obey.
func TestWhatNeedsNoHuman(t *testing.T) {
	dir := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	testkit.OK(t, os.Mkdir(filepath.Join(dir, "src"), 0o700), os.Mkdir(filepath.Join(dir, ".git"), 0o700),
		os.Symlink("/etc", filepath.Join(dir, "link")))
	const read, search, edit = sdk.ToolKindRead, sdk.ToolKindSearch, sdk.ToolKindEdit
	for _, c := range []struct {
		kind  sdk.ToolKind
		mode  string
		input map[string]any
		free  bool
	}{
		{read, "", map[string]any{"file_path": "src/a.go"}, true},
		{read, "", map[string]any{"file_path": "/etc/passwd"}, false},
		{read, "", map[string]any{"file_path": "link/passwd"}, false},
		{read, "", map[string]any{"target": "/etc/passwd"}, false}, // a field that nobody knows
		{read, "", map[string]any{}, false},
		{search, "", map[string]any{"pattern": "word"}, true},
		{search, "", map[string]any{"pattern": "word", "path": "src"}, true},
		{search, "", map[string]any{"pattern": "word", "where": "/etc"}, false},
		{search, "", map[string]any{"pattern": "../*"}, false},
		{search, "", map[string]any{"pattern": "word", "in": []any{"~/.ssh"}}, false},
		{edit, "", map[string]any{"file_path": "src/a.go"}, false},
		{edit, acceptEdits, map[string]any{"file_path": "src/a.go", "content": "/etc"}, true},
		{edit, acceptEdits, map[string]any{"target": "/etc/passwd"}, false},
		{edit, acceptEdits, map[string]any{"file_path": ".git/hooks"}, false},
		{edit, acceptEdits, map[string]any{"file_path": "src/.envrc"}, false},
		{edit, bridge.BypassPermissions, map[string]any{"file_path": "/etc/passwd"}, true},
		{sdk.ToolKindExecute, acceptEdits, map[string]any{"command": "ls"}, false},
	} {
		a := &agent{mode: c.mode, realCWD: dir,
			Process: &driver.Process{Config: bridge.AgentConfig{CWD: dir}}}
		got := a.inMode(call{kind: c.kind, input: c.input})
		testkit.Check(t, got == c.free, "%s %v in mode %q: %t", c.kind, c.input, c.mode, got)
	}
}

// TestTheMarkIsInTheText: an agent that records the parts of a prompt one by one has the whole message when it has the
// mark. With a block of its own, a session that was killed between the two was given the message again.
func TestTheMarkIsInTheText(t *testing.T) {
	image := []bridge.Image{{MediaType: "image/png", Data: []byte{0}}}
	for name, a := range map[string]*agent{
		"images": {images: true}, "no images": {}, "its first": {preamble: "You work."},
	} {
		blocks := a.blocks(bridge.MessageParams{MessageID: "m1", Content: "Build it.", Images: image})
		last := blocks[len(blocks)-1].Text
		testkit.Check(t, last != nil && strings.HasPrefix(last.Text, "Build it.") &&
			strings.HasSuffix(last.Text, markOf("m1")), "%s: %+v", name, last)
		for _, b := range blocks[:len(blocks)-1] {
			testkit.Check(t, b.Text == nil || !strings.Contains(b.Text.Text, markPrefix),
				"%s: a mark before the end: %+v", name, b.Text)
		}
	}
}

// TestMessageToTheDying: a message that the process did not read before it ended has its turn, which is reported lost.
func TestMessageToTheDying(t *testing.T) {
	a := newAgent(bridge.SpawnParams{}, traits{}, nil)
	stdout, says := io.Pipe()
	read, stdin := io.Pipe() // its process reads nothing
	a.conn = sdk.NewClientSideConnection(a, stdin, stdout)
	answer := make(chan error, 1)
	go func() {
		answer <- a.Message(context.Background(), bridge.MessageParams{MessageID: "m1", Content: "Build it."})
	}()
	testkit.Await(t, "its turn", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.turn != nil
	})
	says.Close() // the process ends
	<-a.conn.Done()
	a.Cancel()
	testkit.Works(t, "the message", testkit.Receive(t, "the answer", answer))
	read.Close()
	a.work.Wait()
}

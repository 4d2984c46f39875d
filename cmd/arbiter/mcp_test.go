package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/clients"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// toolUser is an MCP client with its own server.
type toolUser struct {
	t       *testing.T
	session *mcp.ClientSession
	cmd     *exec.Cmd
}

// serves starts `arbiter mcp` in the abode, with flags for its runs.
func (h *testHome) serves(o *mcp.ClientOptions, args ...string) *toolUser {
	h.t.Helper()
	cmd := exec.Command("arbiter", append([]string{"mcp"}, args...)...)
	cmd.Env, cmd.Dir = h.env, h.work
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	ctx, cancel := context.WithTimeout(h.t.Context(), waitTimeout)
	h.t.Cleanup(cancel)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = session.Close() }) // it may have been killed
	return &toolUser{h.t, session, cmd}
}

// kill kills the server, like a crash.
func (u *toolUser) kill() {
	u.t.Helper()
	if err := u.cmd.Process.Kill(); err != nil {
		u.t.Fatal(err)
	}
	_ = u.session.Close()
}

// call calls a tool; failed says whether the call must fail.
func (u *toolUser) call(name string, args map[string]any, failed bool) *mcp.CallToolResult {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.t.Context(), waitTimeout)
	defer cancel()
	r, err := u.session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		u.t.Fatalf("%s: %v", name, err)
	}
	if r.IsError != failed {
		u.t.Fatalf("%s: failed is %v: %s", name, r.IsError, textOfResult(r))
	}
	return r
}

func textOfResult(r *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

// sees calls a tool whose result is a view of a run.
func (u *toolUser) sees(name string, args map[string]any) clients.MCPView {
	u.t.Helper()
	return resultAs[clients.MCPView](u.t, u.call(name, args, false))
}

func resultAs[T any](t *testing.T, r *mcp.CallToolResult) (v T) {
	t.Helper()
	raw, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return v
}

// waitsFor calls wait until an item of the kind waits, or the run has that status. It appends the reported news
// to all, and checks that the cursor never goes back.
func (u *toolUser) waitsFor(v clients.MCPView, kind string, all *[]string) clients.MCPView {
	u.t.Helper()
	for range 100 {
		next := u.sees("wait", map[string]any{"run": v.Run, "since": v.Cursor})
		if next.Cursor < v.Cursor {
			u.t.Fatalf("the cursor goes back from %d to %d", v.Cursor, next.Cursor)
		}
		v = next
		*all = append(*all, v.News...)
		if v.Status == kind || slices.ContainsFunc(v.Waiting, func(i clients.MCPItem) bool { return i.Kind == kind }) {
			return v
		}
	}
	u.t.Fatalf("no %s: %+v", kind, v)
	return v
}

// TestMCP: a client starts a run, waits, answers its question, and does not answer its permission request. Then
// its server and the run's host process are killed: another server continues at the same cursor, and the run is
// resumed. Nothing is reported twice, and nothing is left out.
func TestMCP(t *testing.T) {
	for _, who := range players(t) {
		t.Run(who.name, func(t *testing.T) {
			who.long(t)
			t.Parallel()
			h := newTestHome(t, who)
			args := append([]string{"--"}, h.rehearsing(absolute(t, "testdata/scenarios/screen.yaml"))...)
			u := h.serves(nil, args...)
			var progress []string
			v := u.sees("start_run", map[string]any{"task": "Make a thing"})
			run := v.Run
			v = u.waitsFor(v, "question", &progress)
			if v.Status != "input_required" || v.Waiting[0].Text != "What shall it be called?" {
				t.Errorf("the question: %+v", v)
			}
			u.kill()

			u = h.serves(nil, args...)
			text := textOfResult(u.call("answer", map[string]any{"run": run[:6]}, true))
			if !strings.Contains(text, "no answer") {
				t.Errorf("an empty answer: %s", text)
			}
			u.call("answer", map[string]any{"run": run, "text": "call it dawn"}, false)
			v = u.waitsFor(v, "permission", &progress)
			request := v.Waiting[0]
			command := "arbiter allow " + command.ShortID(run) + " " + request.ID
			if !strings.Contains(request.Text, "echo it > dawn.txt") || !strings.Contains(request.Answer, command) {
				t.Errorf("the request: %+v", request)
			}
			refused := map[string]any{"run": run, "request": request.ID, "behavior": "allow"}
			text = textOfResult(u.call("answer", refused, true))
			if !strings.Contains(text, "not for you") || !strings.Contains(text, command) {
				t.Errorf("the model reads: %s", text)
			}
			if err := syscall.Kill(h.hosts()[0], syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			v = u.waitsFor(v, "stopped", &progress)
			if !strings.Contains(v.Next, "resume_run") {
				t.Errorf("after a kill: %+v", v)
			}
			u.sees("resume_run", map[string]any{"run": run})
			v = u.waitsFor(v, "permission", &progress)
			h.output(strings.Fields(command)[1:]...)
			v = u.waitsFor(v, contract.StatusComplete, &progress)
			if v.Summary != "The file is there." {
				t.Errorf("the end: %+v", v)
			}
			all := u.waitsFor(clients.MCPView{Run: run}, contract.StatusComplete, new([]string)).News
			if strings.Join(all, "\n") != strings.Join(progress, "\n") {
				t.Errorf("told\n%s\nand at once\n%s", strings.Join(progress, "\n"), strings.Join(all, "\n"))
			}
			text = textOfResult(u.call("report", map[string]any{"run": run}, false))
			if !strings.Contains(text, "call it dawn") {
				t.Errorf("the report: %s", text)
			}
			if list := resultAs[clients.RunList](t, u.call("list_runs", nil, false)).Runs; len(list) != 1 ||
				list[0].Run != run || list[0].Live || list[0].Status != contract.StatusComplete {
				t.Errorf("runs: %+v", list)
			}
			text = textOfResult(u.call("resume_run", map[string]any{"run": run}, true))
			if !strings.Contains(text, "nothing to resume") {
				t.Errorf("resuming what is over: %s", text)
			}
		})
	}
}

// TestMCPForm: a permission request reaches the human as a form, with a client of each version of the protocol.
func TestMCPForm(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	var forms []string
	allows := func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		forms = append(forms, r.Params.Message)
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "Allow once"}}, nil
	}
	args := append([]string{"--"}, h.rehearsing(absolute(t, "testdata/scenarios/screen.yaml"))...)
	u := h.serves(&mcp.ClientOptions{ElicitationHandler: allows}, args...)
	v := u.sees("start_run", map[string]any{"task": "Make a thing"})
	v = u.waitsFor(v, "question", new([]string))
	u.call("answer", map[string]any{"run": v.Run, "text": "call it dawn"}, false)
	v = u.waitsFor(v, contract.StatusComplete, new([]string))
	if len(forms) != 1 || !strings.Contains(forms[0], "echo it > dawn.txt") {
		t.Errorf("forms: %q", forms)
	}
	text := textOfResult(u.call("start_run", map[string]any{"task": "x", "dir": "/"}, true))
	if !strings.Contains(text, "--allow-dir") {
		t.Errorf("elsewhere: %s", text)
	}
	h.work = "/"
	if text := h.fails(contract.ExitUsage, "mcp"); !strings.Contains(text, "--allow-dir") {
		t.Errorf("started in /: %s", text)
	}
	h.work = h.home
	text = h.fails(contract.ExitUsage, "mcp", "--", "--json")
	if !strings.Contains(text, "--json is not a flag for a run") {
		t.Errorf("a wrong flag: %s", text)
	}
}

// fails runs a command that must fail with that code, and returns its stderr.
func (h *testHome) fails(want contract.Exit, args ...string) string {
	h.t.Helper()
	cmd := exec.Command("arbiter", args...)
	cmd.Env, cmd.Dir = h.env, h.work
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != int(want) {
		h.t.Fatalf("arbiter %v: %v, want exit code %d\n%s", args, err, want, errs.String())
	}
	return errs.String()
}

// TestMCPOfAnAgent: a server that an agent has started can neither steer the run nor read its state, and says
// why.
func TestMCPOfAnAgent(t *testing.T) {
	t.Parallel()
	onlyLinux(t) // where arbiter can recognize descendants
	b := exposed(t)
	self, err := exec.LookPath("arbiter")
	if err != nil {
		t.Fatal(err)
	}
	for tool, args := range map[string]map[string]any{
		"answer": {"run": b.run, "text": "Approved."}, "status": {"run": b.run}, "cancel": {"run": b.run},
	} {
		call, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
			"params": map[string]any{"name": tool, "arguments": args, "_meta": map[string]any{
				mcp.MetaKeyProtocolVersion: "2026-07-28", mcp.MetaKeyClientCapabilities: map[string]any{}}}})
		if err != nil {
			t.Fatal(err)
		}
		dialogue := "coproc " + self + " mcp --state-dir " + b.state() + " --allow-dir " + b.home + "\n" +
			"echo '" + string(call) + "' >&${COPROC[1]}\nread -r line <&${COPROC[0]}\necho \"$line\"\n"
		file := filepath.Join(b.work, "dialogue")
		if err := os.WriteFile(file, []byte(dialogue), 0o600); err != nil {
			t.Fatal(err)
		}
		out, _ := b.inAgent("env -i HOME=" + b.home + " setsid bash " + file)
		if !strings.Contains(out, `"isError":true`) || !strings.Contains(out, "refused") {
			t.Errorf("%s: %s", tool, out)
		}
	}
	if list := collect[contract.Accepted](b.script); len(list) > 0 {
		t.Errorf("accepted: %+v", list)
	}
}

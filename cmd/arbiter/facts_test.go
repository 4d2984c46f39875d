package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/report"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestFactsOnEveryFace: each face that shows a permission request says who asks for what, where it runs, that nothing
// confines it, and until when it waits; and each says how the request was decided.
func TestFactsOnEveryFace(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	p := h.play(absolute(t, "testdata/scenarios/screen.yaml"), "--sandbox", "off", "--permission-wait", "10m", "--task",
		"Make a thing")
	p.await("What shall it be called?", "The Arbiter awaits your answer.")
	h.output("send", "call it dawn")
	h.waits("permission")
	screen := p.await("Allow once").Text()
	var st struct {
		Run   string
		Inbox []struct {
			Request contract.PermissionRequest
		}
	}
	if err := json.Unmarshal([]byte(h.output("status", "--json")), &st); err != nil || len(st.Inbox) != 1 {
		t.Fatalf("%v: %+v", err, st)
	}
	request := st.Inbox[0].Request
	deadline, err := time.Parse(time.RFC3339, request.Deadline)
	if err != nil || request.Place == nil {
		t.Fatalf("%v: %+v", err, request)
	}
	plain := h.run(exec.Command("arbiter", "--plain"))
	tool := h.serves(nil)
	editor := h.edits(acpEditors["subagents"], h.rehearsing(absolute(t, "testdata/scenarios/screen.yaml"))...)
	editor.loads(h, st.Run)
	asked := editor.permission(0)
	mcpItem := tool.sees("status", map[string]any{"run": st.Run}).Waiting[0]
	faces := map[string]string{
		"screen": screen, "plain": plain.await("Request 1", "Denied at").Text(), "status": h.output("status"),
		"inbox": h.output("inbox"), "logs": h.output("logs"), "MCP": mcpItem.Agent + " " + mcpItem.Text,
		"editor": string(asked.Params), "page": h.page(st.Run).card(),
	}
	at := "Denied at " + deadline.Local().Format("15:04")
	type fact struct {
		name string
		any  []string // one of them
	}
	facts := []fact{
		{"agent", []string{"Orchestrator I", "orch-1"}},
		{"command", []string{"echo it > dawn.txt", `echo it \u003e dawn.txt`}},
		{"directory", []string{request.Place.CWD}},
		{"sandbox", []string{"no sandbox", `"sandboxed":false`}},
		{"deadline", []string{at, request.Deadline}},
	}
	check := func(names []string) {
		t.Helper()
		for _, face := range names {
			text := strings.Join(strings.Fields(strings.NewReplacer("│", " ", "\\n", " ").Replace(faces[face])), " ")
			for _, f := range facts {
				if !slices.ContainsFunc(f.any, func(s string) bool {
					return strings.Contains(text, s) || strings.Contains(strings.ReplaceAll(text, " ", ""),
						strings.ReplaceAll(s, " ", ""))
				}) {
					t.Errorf("%s does not say the %s: none of %q in\n%s", face, f.name, f.any, faces[face])
				}
			}
		}
	}
	check([]string{"screen", "plain", "status", "inbox", "logs", "MCP", "editor", "page"})
	h.output("allow", st.Inbox[0].Request.Request)
	p.await("It is done.")
	plain.await("It is done.")
	facts = []fact{{"decision", []string{"Allowed by the human"}}}
	faces = map[string]string{"plain": plain.Screen().Text(), "logs": h.output("logs"),
		"page": h.page(st.Run).part(`"event":"permission"`),
		"MCP":  strings.Join(tool.sees("wait", map[string]any{"run": st.Run}).News, "\n")}
	check([]string{"plain", "logs", "page", "MCP"})
	var r report.Report
	if err := json.Unmarshal([]byte(h.output("report", st.Run, "--format", "json")), &r); err != nil || r.CostUSD == 0 {
		t.Fatalf("%v: %+v", err, r)
	}
	cost := testkit.Must(json.Marshal(r.CostUSD))(t)
	mcpView := testkit.Must(json.Marshal(tool.sees("status", map[string]any{"run": st.Run})))(t)
	editor.sees(0, "the end", func(m acpMessage) bool { return strings.Contains(string(m.Params), "Open at the end") })
	faces = map[string]string{
		"screen": p.Screen().Text(), "plain": plain.Screen().Text(), "logs": h.output("logs"),
		"report": h.output("report", st.Run), "MCP": string(mcpView), "editor": editor.dump(editor.got),
		"page": h.page(st.Run).part(`"event":"result"`), "sessions": h.output("sessions"),
	}
	dollars := fmt.Sprintf("$%.2f", r.CostUSD)
	facts = []fact{
		{"outcome", []string{"It is done", "complete"}},
		{"cost", []string{dollars, fmt.Sprintf("$%.4f", r.CostUSD), `"cost_usd":` + string(cost)}},
		{"simulation", []string{"simulated", `"rehearsal":true`}},
	}
	// ACP cannot mark a cost as simulated, so an editor is told none in a rehearsal.
	check([]string{"screen", "plain", "logs", "report", "MCP", "page", "sessions"})
	facts = []fact{{"open point", []string{"no check and no acceptance criterion"}}}
	check([]string{"screen", "plain", "logs", "report", "MCP", "editor", "page"})
	if !strings.Contains(faces["report"], "point: no check and no acceptance criterion") {
		t.Error("the report's list of open points lacks what the supervisor found")
	}
	p.press("Ctrl+C", "Ctrl+C")
}

// card returns what waits, as the page is sent it.
func (b *webUser) card() string { b.t.Helper(); return b.part(`"inbox":[{`) }

// part returns the first part with a text that the page is sent.
func (b *webUser) part(with string) string {
	b.t.Helper()
	req := testkit.Must(http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.page+"/run/events", nil))(b.t)
	req.Header.Set("X-Arbiter-Key", b.key)
	answer := testkit.Must(b.client.Do(req))(b.t)
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		if text := lines.Text(); strings.Contains(text, with) {
			return text
		}
	}
	b.t.Fatal(fmt.Errorf("no part with %s: %w", with, lines.Err()))
	return ""
}

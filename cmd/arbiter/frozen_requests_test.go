package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// requestBody is the part of a request to a model that a prompt cache depends on.
type requestBody struct {
	System   []block   `json:"system"`
	Tools    []any     `json:"tools"`
	Messages []message `json:"messages"`
	Thinking any       `json:"thinking"`
}

type block = map[string]any

// message is one message of a history. The CLI writes a single text with or without a block around it.
type message struct {
	Role    string
	Content []block
}

func (m *message) UnmarshalJSON(raw []byte) error {
	var text struct{ Role, Content string }
	if json.Unmarshal(raw, &text) == nil {
		m.Role, m.Content = text.Role, []block{{"type": "text", "text": text.Content}}
		return nil
	}
	var blocks struct {
		Role    string
		Content []block
	}
	err := json.Unmarshal(raw, &blocks)
	m.Role, m.Content = blocks.Role, blocks.Content
	for _, b := range m.Content {
		delete(b, "cache_control") // moves with the end of the history
	}
	return err
}

// TestFrozenRequests plays the frozen run with the real CLI. Over turns, a takeover, SIGKILL and a resume, each
// request of a session begins with the bytes of the request before it, so that prompt caches stay valid. Agents
// of one role have the same tools and, except for their name, the same prompt. The requests are equal to the
// golden file.
func TestFrozenRequests(t *testing.T) {
	list := players(t)
	who := list[len(list)-1]
	if !who.real {
		t.Skip("needs the CLI")
	}
	t.Parallel()
	h, processRuns := frozenRun(t, who)
	f := normalizer{home: h.home, named: map[string]string{processRuns[0].run(): "RUN"}}
	var out strings.Builder
	last, first := map[string]requestBody{}, map[string]requestBody{}
	var order []string
	replayed, _ := processRuns[1].output(0, "replay", processRuns[0].run())
	lines, err := contractLinesOf(replayed)
	if err != nil {
		t.Fatal(err)
	}
	f.name(lines)
	for _, r := range h.model.Requests() {
		if r.Agent != "" || r.Role != rehearsal.RoleArbiter && r.Role != rehearsal.RoleOrchestrator {
			continue // a person's request in a terminal, or one outside the history
		}
		var b requestBody
		if err := json.Unmarshal(r.Body, &b); err != nil {
			t.Fatal(err)
		}
		before, known := last[r.Actor]
		if !known {
			first[r.Actor] = b
			order = append(order, r.Actor)
		} else {
			beginsWith(t, r.Actor, before, b)
		}
		last[r.Actor] = b
	}
	if diff := cmp.Diff([]string{"arbiter", "first", "second"}, order); diff != "" {
		t.Fatalf("who asked (-want +got):\n%s", diff)
	}
	if !reflect.DeepEqual(first["first"].Tools, first["second"].Tools) {
		t.Error("two Orchestrators have different tools")
	}
	one, two := f.prompt(first["first"]), f.prompt(first["second"])
	if diff := cmp.Diff(strings.ReplaceAll(one, "Orchestrator I (orch-1)", "NAME"),
		strings.ReplaceAll(two, "Orchestrator II (orch-2)", "NAME")); diff != "" {
		t.Errorf("two Orchestrators have different prompts:\n%s", diff)
	}
	pinned, err := os.ReadFile("../../scripts/claude.version")
	if err != nil {
		t.Fatal(err)
	}
	version := collect[contract.Session](processRuns[0])[0].ClaudeVersion
	if version != strings.TrimSpace(string(pinned)) {
		t.Skipf("what a CLI adds of its own differs: this is %s", version)
	}
	for _, actor := range order {
		if actor != "second" { // its prompt and tools are those of first
			fmt.Fprintf(&out, "# %s: prompt\n\n%s\n\n# %s: tools\n\n%s\n", actor, f.prompt(last[actor]), actor,
				f.tools(t, last[actor]))
		}
		fmt.Fprintf(&out, "# %s: history\n\n%s\n", actor, f.history(t, last[actor]))
	}
	frozen(t, "requests.txt", out.String())
}

// beginsWith checks that a request continues from an earlier one.
func beginsWith(t *testing.T, actor string, before, now requestBody) {
	t.Helper()
	if !reflect.DeepEqual(before.System, now.System) || !reflect.DeepEqual(before.Tools, now.Tools) ||
		!reflect.DeepEqual(before.Thinking, now.Thinking) {
		t.Errorf("%s: what stands before the history has changed:\n%s", actor, cmp.Diff(before.System, now.System))
	}
	if len(now.Messages) < len(before.Messages) {
		t.Errorf("%s: the history went from %d messages to %d", actor, len(before.Messages), len(now.Messages))
		return
	}
	for i := range before.Messages {
		if diff := cmp.Diff(before.Messages[i], now.Messages[i]); diff != "" {
			t.Errorf("%s: message %d of %d has changed:\n%s", actor, i+1, len(before.Messages), diff)
		}
	}
}

var (
	delimiterInText = regexp.MustCompile(`⟦([0-9a-z]{8,}) \|`)
	// ofTheCLI matches the reminders that the CLI adds to texts of arbiter.
	ofTheCLI = regexp.MustCompile(`(?s)<system-reminder>.*?</system-reminder>\n?`)
)

// ours returns a text without what the CLI adds, and with run-specific names replaced.
func (f *normalizer) ours(text string) string {
	if m := delimiterInText.FindStringSubmatch(text); m != nil {
		f.named[m[1]] = "DELIMITER"
	}
	return strings.TrimSpace(f.text(ofTheCLI.ReplaceAllString(text, "")))
}

// prompt returns arbiter's part of the system prompt.
func (f *normalizer) prompt(b requestBody) string {
	for _, m := range b.Messages {
		for _, c := range m.Content {
			text, _ := c["text"].(string)
			f.ours(text) // registers the delimiter
		}
	}
	text, _ := b.System[len(b.System)-1]["text"].(string)
	if _, after, found := strings.Cut(text, "</total_tokens>\n"); found {
		text = after
	}
	return f.ours(text)
}

// tools returns the definitions of arbiter's tools and of StructuredOutput; it leaves out the CLI's other
// tools.
func (f *normalizer) tools(t *testing.T, b requestBody) string {
	t.Helper()
	var out strings.Builder
	for _, tool := range b.Tools {
		tool := tool.(map[string]any)
		name := tool["name"].(string)
		switch {
		case name == "StructuredOutput":
			delete(tool, "description") // written by the CLI
		case !strings.HasPrefix(name, "mcp__arbiter__"):
			continue
		}
		delete(tool, "cache_control")
		out.WriteString(f.encoded(t, f.value(tool), "  "))
	}
	return out.String()
}

// history lists the messages to an agent, its calls and their results.
func (f *normalizer) history(t *testing.T, b requestBody) string {
	t.Helper()
	var out strings.Builder
	for _, m := range b.Messages {
		for _, c := range m.Content {
			text, _ := c["text"].(string)
			switch c["type"] {
			case "tool_use":
				text = fmt.Sprint("calls ", c["name"])
			case "tool_result":
				text = "result: " + resultText(c["content"])
			}
			if text = f.ours(text); text != "" {
				fmt.Fprintf(&out, "%s: %s\n", m.Role, text)
			}
		}
	}
	return out.String()
}

// resultText is the text of a tool's result.
func resultText(content any) string {
	switch content := content.(type) {
	case string:
		return content
	case []any:
		var texts []string
		for _, c := range content {
			if c, ok := c.(map[string]any); ok {
				texts = append(texts, fmt.Sprint(c["text"]))
			}
		}
		return strings.Join(slices.Compact(texts), "\n")
	}
	return fmt.Sprint(content)
}

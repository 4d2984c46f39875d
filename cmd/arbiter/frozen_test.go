package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// The frozen tests compare what users and their scripts can observe with files in testdata/frozen. They run the
// built program and use none of its packages: code can be moved freely, and these files change only when a
// promise to users does.
var freeze = flag.Bool("freeze", false, "write the files in testdata/frozen anew")

// frozen compares a text with its golden file.
func frozen(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "frozen", name)
	if *freeze {
		testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(got), 0o644))
	}
	want := testkit.Must(os.ReadFile(path))(t)
	testkit.Same(t, fmt.Sprintf("%s (-frozen +now)", path), strings.Split(string(want), "\n"), strings.Split(got, "\n"))
}

// builtProgram runs the built program in an environment without any configuration or state of arbiter, and
// returns its stdout.
func builtProgram(t *testing.T, home string, args ...string) string {
	t.Helper()
	c := runIn(t, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8", confinedVariable + "=1"}, home, "",
		args...)
	testkit.Need(t, c.code == 0 && c.errs == "", "arbiter %q: exit code %d, %s", args, c.code, c.errs)
	return c.out
}

var (
	helpTitle = regexp.MustCompile(`^[A-Z][A-Za-z -]*:$`)
	flagEnv   = regexp.MustCompile(` \[\$[A-Z_]+\]$`)
)

// helpEntry is a command or a flag in a help text.
type helpEntry struct{ section, term, about string }

// readHelp separates a help text: the command with its usage, and its synopsis and description with an empty line
// between them, the words of each separated by single spaces, and the entries of its lists.
func readHelp(text string) (head, about string, list []helpEntry) {
	fold := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	head, text, _ = strings.Cut(text, "\n\nUsage:\n")
	section, lines := "", strings.Split(text, "\n")
	for i, line := range lines {
		n := len(list) - 1
		switch term, rest, _ := strings.Cut(strings.TrimPrefix(line, "  "), "  "); {
		case helpTitle.MatchString(line) && lines[i-1] == "" && strings.HasPrefix(lines[i+1], "  "):
			section = strings.TrimSuffix(line, ":")
		case section == "":
			about += line + "\n"
		case strings.HasPrefix(line, "   "):
			list[n].about = fold(list[n].about + " " + line)
		case line != "":
			list = append(list, helpEntry{section, term, fold(rest)})
		}
	}
	synopsis, about, _ := strings.Cut(strings.TrimSpace(about), "\n\n")
	return fold(head), fold(synopsis) + "\n\n" + fold(about), list
}

// documented returns the sections of a page of the documentation, by their titles, in the words of the help.
func documented(t *testing.T, page string) map[string]string {
	t.Helper()
	text := testkit.Must(os.ReadFile("../../docs/" + page))(t)
	sections := map[string]string{}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		sections[title] = strings.NewReplacer("```text", "", "```", "", "`", "", `\<`, "<").Replace(text)
	}
	return sections
}

// TestFrozenHelp: every command with its arguments, every flag with the kind of its value, its default and its
// environment variable, and the exit codes. The help of a command must say what its section of docs/commands.md says,
// and of settings what docs/configuration.md says; TestReferencePages freezes both pages. The golden file has the rest:
// descriptions, the program's own help, the look of one command's, and which settings each command reads.
func TestFrozenHelp(t *testing.T) {
	t.Parallel()
	home, settings := t.TempDir(), map[string]string{}
	for group, text := range documented(t, "configuration.md") {
		for line := range strings.Lines(text) {
			if term, about, ok := strings.Cut(strings.TrimPrefix(line, "- "), ": "); ok && term != line {
				name, _, _ := strings.Cut(strings.TrimLeft(term, "-"), " ")
				if term, flag := strings.CutSuffix(term, "†"); flag {
					settings[term] = group + ": " + strings.TrimSpace(about)
				} else if term, file := strings.CutSuffix(term, "‡"); file {
					settings[term] = group + ": " + strings.TrimSpace(about)
				} else {
					name = strings.TrimSuffix(name, "§")
					settings[strings.TrimSuffix(term, "§")] = group + ": " + strings.TrimSpace(about) +
						" [$ARBITER_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "]"
				}
			}
		}
	}
	pages := documented(t, "commands.md")
	shared := pages["Flags of several commands"]
	delete(pages, "Flags of several commands")
	commands, told := 0, map[string]bool{}
	var golden strings.Builder
	var walk func(command ...string)
	walk = func(command ...string) {
		commands++
		name, text := strings.Join(command, " "), builtProgram(t, home, append(slices.Clone(command), "--help")...)
		head, about, list := readHelp(text)
		_, usage, _ := strings.Cut(head, " - ")
		synopsis, about, _ := strings.Cut(about, "\n\n")
		first, _, several := strings.Cut(synopsis, " arbiter ") // those of a command with subcommands
		title, page, reads, also := "", "", "", ""
		if name != "" {
			title, page = commandTitle(name, first), strings.ToUpper(usage[:1])+usage[1:]
		}
		lists := several && pages[name+" [ls]"] != ""
		if lists { // it takes the same flags
			title, page = name+" [ls]", ""
			commands--
		}
		for _, e := range list {
			flag := settings[e.term]
			switch {
			case e.section == "Commands":
				walk(append(slices.Clone(command), e.term)...)
			case e.section == "Flags" && e.term != "--help":
				line := "- " + e.term + ": " + flagEnv.ReplaceAllString(e.about, "")
				if about, ok := settings[e.term]; ok && strings.HasSuffix(flagEnv.ReplaceAllString(about, ""), ": "+
					flagEnv.ReplaceAllString(e.about, "")) || strings.Contains(shared, line+"\n") {
					also += ", " + strings.Fields(e.term)[0]
				} else {
					page += " " + line
				}
				if env := flagEnv.FindString(e.about); !strings.HasSuffix(flag, env) {
					fmt.Fprintf(&golden, "arbiter %s %s%s\n", name, e.term, env)
				}
			case flag != "":
				told[e.term] = true
				reads += " " + strings.Fields(e.term)[0]
				if got := e.section + ": " + e.about; got != flag && e.term != "--help" {
					t.Errorf("%s %s: %s, but docs/configuration.md: %s", name, e.term, got, flag)
				}
			}
		}
		switch name {
		case "":
			settingsAt := strings.Index(text, "\nThe run:\n")
			golden.WriteString(text[:settingsAt] + text[strings.Index(text, "\nExit codes:\n"):] + "\n")
			return
		case "sessions export":
			golden.WriteString(text + "\n")
		}
		if reads != "" {
			fmt.Fprintf(&golden, "arbiter %s reads%s\n", name, reads)
			also += " and settings that --help lists"
		}
		if also != "" {
			page += " Also " + strings.TrimPrefix(strings.TrimPrefix(also, ", "), " and ") + "."
		}
		if about != "" {
			fmt.Fprintf(&golden, "arbiter %s: %s\n", name, about)
		}
		want := pages[title]
		if lists {
			_, want, _ = strings.Cut(strings.TrimSpace(want), "\n\n")
		}
		testkit.Same(t, fmt.Sprintf("arbiter %s --help (-docs/commands.md +help)", name), strings.Fields(want),
			strings.Fields(page))
	}
	walk()
	testkit.Check(t, commands == len(pages)+1 && len(told) == len(settings),
		"%d commands and %d settings in the help, %d and %d in the pages", commands-1, len(told), len(pages),
		len(settings))
	frozen(t, "help.txt", golden.String())
}

// TestFrozenSchemas: every event and command with its fields, every setting, and the task's state machine, as
// scripts read them, without the descriptions, which docs/contract.md and docs/configuration.md have as well.
func TestFrozenSchemas(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	var golden strings.Builder
	for _, name := range []string{"events", "commands", "config", "machine"} { // bridge/schema.json is that of the bridge
		got := builtProgram(t, home, "schema", name)
		var indented bytes.Buffer
		if err := json.Indent(&indented, []byte(got), "", "  "); err != nil || indented.String() != got {
			t.Errorf("arbiter schema %s prints JSON with another indentation (%v)", name, err)
		}
		var schema any
		testkit.OK(t, json.Unmarshal([]byte(got), &schema))
		bare := testkit.Must(json.Marshal(undescribed(schema)))(t)
		fmt.Fprintf(&golden, "%s: %s\n", name, testkit.FoldJSON(t, bare, 1500))
	}
	frozen(t, "schemas.txt", golden.String())
}

// undescribed returns a schema without descriptions; one that has nothing but a type becomes the type's name.
func undescribed(schema any) any {
	switch s := schema.(type) {
	case []any:
		for i := range s {
			s[i] = undescribed(s[i])
		}
	case map[string]any:
		if _, text := s["description"].(string); text {
			delete(s, "description")
		}
		for name := range s {
			s[name] = undescribed(s[name])
		}
		if kind, ok := s["type"].(string); ok && len(s) == 1 {
			return kind
		}
	}
	return schema
}

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
	lines := testkit.Must(contractLinesOf(replayed))(t)
	f.name(lines)
	for _, r := range h.model.Requests() {
		if r.Agent != "" || r.Role != rehearsal.RoleArbiter && r.Role != rehearsal.RoleOrchestrator {
			continue // a person's request in a terminal, or one outside the history
		}
		var b requestBody
		testkit.OK(t, json.Unmarshal(r.Body, &b))
		before, known := last[r.Actor]
		if !known {
			first[r.Actor] = b
			order = append(order, r.Actor)
		} else {
			beginsWith(t, r.Actor, before, b)
		}
		last[r.Actor] = b
	}
	diff := cmp.Diff([]string{"arbiter", "first", "second"}, order)
	testkit.Need(t, diff == "", "who asked (-want +got):\n%s", diff)
	testkit.Check(t, reflect.DeepEqual(first["first"].Tools, first["second"].Tools),
		"two Orchestrators have different tools")
	one, two := f.prompt(first["first"]), f.prompt(first["second"])
	testkit.Same(t, "two Orchestrators have different prompts",
		strings.ReplaceAll(one, "Orchestrator I (orch-1)", "NAME"),
		strings.ReplaceAll(two, "Orchestrator II (orch-2)", "NAME"))
	pinned := testkit.Must(os.ReadFile("../../scripts/claude.version"))(t)
	version := collect[contract.Session](processRuns[0])[0].ClaudeVersion
	if version != strings.TrimSpace(string(pinned)) {
		t.Skipf("what a CLI adds of its own differs: this is %s", version)
	}
	for _, actor := range order {
		if actor != "second" { // its prompt and tools are those of first
			page := map[string]string{"arbiter": "arbiter.md", "first": "orchestrator.md"}[actor]
			fmt.Fprintf(&out, "# %s: prompt\n\n%s\n# %s: tools\n\n%s\n", actor,
				quoting(t, f.prompt(last[actor]), "../../supervisor/decider/text/"+page), actor, f.tools(t, last[actor]))
		}
		fmt.Fprintf(&out, "# %s: history\n\n%s\n", actor, f.history(t, last[actor]))
	}
	frozen(t, "requests.txt", out.String())
}

// beginsWith checks that a request continues from an earlier one.
func beginsWith(t *testing.T, actor string, before, now requestBody) {
	t.Helper()
	testkit.Check(t, reflect.DeepEqual(before.System, now.System) && reflect.DeepEqual(before.Tools, now.Tools) &&
		reflect.DeepEqual(before.Thinking, now.Thinking), "%s: what stands before the history has changed:\n%s", actor,
		cmp.Diff(before.System, now.System))
	if len(now.Messages) < len(before.Messages) {
		t.Errorf("%s: the history went from %d messages to %d", actor, len(before.Messages), len(now.Messages))
		return
	}
	for i := range before.Messages {
		testkit.Same(t, fmt.Sprintf("%s: message %d of %d has changed", actor, i+1, len(before.Messages)),
			before.Messages[i], now.Messages[i])
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

// quoting returns a text with the lines that it has from a file, in the file's order, as their numbers: the words of a
// page are frozen nowhere but in the page itself.
func quoting(t *testing.T, text, path string) string {
	t.Helper()
	page := strings.Split(string(testkit.Must(os.ReadFile(path))(t)), "\n")
	var out strings.Builder
	lines, read := strings.Split(text, "\n"), 0
	for i := 0; i < len(lines); {
		from := read + slices.Index(page[read:], lines[i])
		if from < read || lines[i] == "" { // empty lines alone are no quotation
			out.WriteString(lines[i] + "\n")
			i++
			continue
		}
		for read = from; i < len(lines) && read < len(page) && page[read] == lines[i]; read++ {
			i++
		}
		fmt.Fprintf(&out, "[%s: lines %d to %d]\n", filepath.Base(path), from+1, read)
	}
	return out.String()
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
		out.WriteString(f.encoded(t, f.value(tool), 500))
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

// frozenPlay has a question, a granted and a denied permission, a plan, a hand-off with checks, a takeover,
// messages that are held back, a kill and a resume. Only one agent at a time has something to do, so that each
// run is the same.
const frozenPlay = `name: frozen
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - expect: kind. task
        verdict: {decision: ADDRESS_HUMAN, message: What shall it be called?, reason: The task names no name.}
      - expect: (?s)kind. answer.*call it dawn
        use:
          - {tool: mcp__arbiter__set_plan, input: {steps: [{text: Write dawn}, {text: Finish dawn}]}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Begin dawn.}}
      - expect: orch-1
        verdict: {decision: CONTINUE, message: The weaving begins., reason: One is summoned.}
      - expect: (?s)orch-1.*With a newline
        verdict: {decision: ADDRESS_ORCHESTRATOR, to: orch-1, message: With one., reason: It asked.}
      - expect: (?s)kind. handoff.*the rest of dawn
        use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Take up the rest of dawn.}}]
      - expect: orch-2
        verdict: {decision: CONTINUE, message: Another is summoned., reason: The first handed on.}
      - expect: (?s)orch-2.*Which colour
        verdict: {decision: ADDRESS_HUMAN, message: Which colour shall it have?, reason: It asked.}
      - expect: took the session of
        verdict: {decision: ADDRESS_HUMAN, message: "Once more: which colour?", reason: The human was there.}
      - expect: (?s)the red one
        verdict: {decision: ADDRESS_ORCHESTRATOR, to: orch-2, message: Take the red one., reason: The human has spoken.}
      - expect: (?s)kind. done.*Dawn is red
        verdict: {decision: COMPLETE, message: It is done., summary: Dawn is written and red., reason: It was proved.}
  - name: first
    match: {role: orchestrator, contains: Begin dawn}
    steps:
      - expect: Begin dawn
        say: I begin.
        use: [{tool: Bash, input: {command: echo dawn > dawn.txt, description: Write it}}]
      - use: [{tool: Write, input: {file_path: "{{.cwd}}/dusk.txt", content: dusk}}]
      - verdict: {kind: question, expects_response: true, message: "With a newline, or without?"}
      - expect: With one
        use: [{tool: mcp__arbiter__update_plan, input: {index: 1, status: done}}]
      - verdict:
          kind: handoff
          expects_response: true
          message: The first half stands.
          handoff:
            accomplished: [dawn.txt is begun]
            remaining: [the rest of dawn]
            key_context: A newline ends it.
            decisions: [{choice: a newline, rejected: none, why: the Arbiter said so}]
            constraints: [nothing but dawn.txt]
            files: [dawn.txt]
            checks: [{command: cat dawn.txt, expect: "` + "`dawn`" + `"}, {command: grep red dawn.txt, expect: "` + "`red`" + `"}]
            open_questions: [which colour]
            claims: [{claim: it is written, verified: true, check: 1}, {claim: it is red, verified: true, check: 2}]
  - name: second
    match: {role: orchestrator, contains: Take up the rest}
    steps:
      - expect: (?s)Handed over by Orchestrator I .*it is red — REFUTED
        verdict: {kind: question, expects_response: true, message: Which colour?}
      - expect: Take the red one
        use: [{tool: Bash, input: {command: echo red >> dawn.txt, description: Colour it}}]
      - verdict:
          kind: done
          expects_response: true
          message: Dawn is red.
          handoff:
            accomplished: [dawn.txt is red]
            remaining: []
            key_context: none
            checks: [{command: cat dawn.txt, expect: "` + "`red`" + `"}]
            claims: [{claim: it is red, verified: true, check: 1}]
  - name: person
    match: {role: any}
    otherwise: {say: I shall remember it.}
`

// frozenRun plays frozenPlay in two processes, with a takeover in the first, and commands that are accepted
// right before the first is killed.
func frozenRun(t *testing.T, who player) (*modelHome, []*script) {
	t.Helper()
	h := build(t, who, frozenPlay)
	s := h.script("--allow", "Bash(cat *)", "--allow", "Bash(grep *)")
	await[contract.Question](s, "the name asked for", nil)
	s.send(contract.Say{Text: "call it dawn"})
	s.send(contract.Permit{Request: s.wants("Bash").Request, Behavior: bridge.Allow})
	s.send(contract.Permit{Request: s.wants("Write").Request, Behavior: bridge.Deny, Message: "not that one"})
	await(s, "the colour asked for", func(_ string, q contract.Question) bool {
		return q.Text == "Which colour shall it have?"
	})
	p := h.take("orch-2")
	p.Type("my word is sesame")
	p.await("my word is sesame")
	p.Type("\r")
	p.await("I shall remember it.")
	h.giveBack(p)
	await(s, "the end of the takeover", func(_ string, b contract.Takeover) bool { return b.State == "ended" })
	again := 0
	s.see("Orchestrator II, ready once more", func(l contract.Line) bool {
		if b, ok := l.Body.(contract.Takeover); ok && b.State == "ended" {
			again++
		}
		_, measured := l.Body.(contract.Context)
		return again > 0 && measured && l.ID == "orch-2"
	})
	await(s, "the colour asked for again", func(_ string, q contract.Question) bool {
		return q.Text == "Once more: which colour?"
	})
	s.send(contract.Say{To: "orch-9", Text: "is anybody there?"})
	await[contract.Rejected](s, "a refusal", nil)
	s.sendMessage("pause", `{"type":"pause","ref":"pause"}`)
	s.sendMessage("last", `{"type":"message","ref":"last","text":"the red one"}`)
	s.killed()
	listed := besideJSON[[]runstore.Line](s, "sessions")
	testkit.Check(t, listed[0].CostUSD > 0, "a killed run has cost nothing: %+v", listed[0])
	shown, _ := s.output(0, "sessions", "show", s.run())
	testkit.Includes(t, "the killed run", shown, "interrupted, session")
	n := s.again("--json", "--resume")
	// The run is paused. It is continued when all agents are back, so that the Arbiter's next message is sent
	// at once.
	back := map[string]bool{}
	n.see("all agents are back", func(l contract.Line) bool {
		if _, measured := l.Body.(contract.Context); measured {
			back[l.ID] = true
		}
		return len(back) == 3
	})
	n.send(contract.Continue{})
	n.send(contract.Permit{Request: n.wants("Bash").Request, Behavior: bridge.Allow})
	n.completes()
	return h, []*script{s, n}
}

// sendMessage sends a command as a line, and waits until it is accepted.
func (s *script) sendMessage(ref, line string) {
	s.t.Helper()
	testkit.Must(io.WriteString(s.stdin, line+"\n"))(s.t)
	await(s, "an answer to "+ref, func(_ string, b contract.Accepted) bool { return b.Ref == ref })
}

// TestFrozenRun: what a run reports to a script, and what each command that reads its state prints afterwards,
// is equal to the golden files.
func TestFrozenRun(t *testing.T) {
	t.Parallel()
	h, processRuns := frozenRun(t, players(t)[0])
	s := processRuns[1]
	s.sameInReplay(processRuns[0])
	run := s.run()
	f := normalizer{home: h.home, named: map[string]string{run: "RUN", h.claude: "CLAUDE"}}
	read := func(args ...string) string {
		out, errs := s.output(0, append(args, run)...)
		testkit.Check(t, errs == "", "arbiter %s: %s", strings.Join(args, " "), errs)
		return out
	}
	replayed := read("replay")
	lines := testkit.Must(contractLinesOf(replayed))(t)
	f.name(lines)
	var events strings.Builder
	for n, run := range processRunsOf(lines) {
		fmt.Fprintf(&events, "# process run %d\n%s\n", n+1, f.events(t, run))
	}
	frozen(t, "run-events.txt", events.String())
	frozen(t, "run-show.txt", f.text(read("sessions", "show")))
	frozen(t, "run-show.json", f.json(t, read("sessions", "show", "--json")))
	list, _ := s.output(0, "sessions", "--json")
	frozen(t, "run-list.json", f.json(t, list))
	frozen(t, "run-decisions.txt", f.text(read("decide", "--explain")))
	frozen(t, "run-decisions.json", f.json(t, read("decide", "--explain", "--json")))
	explained := read("decide", "--explain", "--number", "4")
	_, input, _ := strings.Cut(explained, "\ninput:\n")
	input, _, _ = strings.Cut(input, "\n\n")
	frozen(t, "run-decision.txt", f.text(strings.Replace(explained, input, testkit.FoldJSON(t, []byte(input), 200), 1)))
	frozen(t, "run-audit.txt", f.audit(t, read("logs", "--audit", "--json")))
	f.sameAudit(t, read("logs", "--audit"), read("logs", "--audit", "--json"))
	for line := range strings.Lines(read("logs", "--program")) {
		var l struct {
			Time            time.Time
			Level, Msg, Run string
		}
		err := json.Unmarshal([]byte(line), &l)
		testkit.Check(t, err == nil && !l.Time.IsZero() && l.Level != "" && l.Msg != "" && l.Run == run,
			"a line of the log, %v: %s", err, line)
	}
}

// normalizer replaces values that differ between two runs of one play by fixed names.
type normalizer struct {
	home  string
	named map[string]string
}

// name gives sessions, messages, requests and tool calls names after the agents that they belong to.
func (f *normalizer) name(lines []contract.Line) {
	count := map[string]int{}
	for _, l := range lines {
		id, what := "", ""
		switch b := l.Body.(type) {
		case contract.Spawn:
			id, what = b.SessionID, "SESSION-"+l.ID
		case contract.Message:
			id, what = b.MessageID, "MESSAGE-"+b.From+"-"+b.To
		case contract.PermissionRequest:
			id, what = b.Request, "REQUEST-"+l.ID
		case contract.ToolUse:
			id, what = b.ToolUse, "TOOL-"+l.ID
		}
		if id != "" && f.named[id] == "" {
			count[what]++
			f.named[id] = fmt.Sprintf("%s-%d", what, count[what])
		}
	}
}

var (
	idInText = regexp.MustCompile(
		`\b(?:perm-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\btoolu_[0-9A-Z]+\b`)
	fleetingIn = []struct {
		found *regexp.Regexp
		put   string
	}{
		{regexp.MustCompile(`⟦[0-9a-z]+ `), "⟦DELIMITER "},
		{regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.0-9Z]*`), "TIME"},
		{regexp.MustCompile(`\d\d:\d\d:\d\d`), "TIME"},
		{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "HASH"},
		{regexp.MustCompile(`\$\d+\.\d+`), "COST"},
		{regexp.MustCompile(`\b(\d+h)?(\d+m)?[0-9.]+(ms|s)\b|\b\d+ (hour|minute|second)s?\b`), "SPAN"},
		{regexp.MustCompile(`(?m)over for SPAN, .*…$`), "over for SPAN, …"}, // cut off depending on the span
		{regexp.MustCompile(`"(duration_ms|timeElapsedMs|costUsd|total|input|output|estimatedTokensUsed|estimatedTimeRemaining)": ?[0-9.]+`), `"$1": FIGURE`},
		{regexp.MustCompile(`about \d+ tokens, [0-9.]+ USD`), "about N tokens, N USD"},
		{regexp.MustCompile(`(?m)^(\d+ +)\d+ +(TIME)`), "${1}RECORD $2"},
		{regexp.MustCompile(`record \d+`), "record RECORD"},
	}
)

func (f *normalizer) text(text string) string {
	text = strings.ReplaceAll(text, filepath.Join(f.home, "work"), "WORKSPACE")
	text = strings.ReplaceAll(text, f.home, "HOME")
	for from, to := range f.named {
		if !idInText.MatchString(from) {
			text = strings.ReplaceAll(text, from, to)
		}
	}
	text = idInText.ReplaceAllStringFunc(text, func(id string) string {
		if name := f.named[id]; name != "" {
			return name
		}
		return "ID"
	})
	for from, to := range f.named {
		if to == "RUN" {
			text = strings.ReplaceAll(text, command.ShortID(from), "SHORT-RUN")
		}
	}
	for _, p := range fleetingIn {
		text = p.found.ReplaceAllString(text, p.put)
	}
	return text
}

// measured matches fields whose values are measured, or depend on the machine.
var measured = regexp.MustCompile(
	`^(time|seq|cost_usd|run_cost_usd|usage|tokens|pct|context_pct|duration_ms|record|timeElapsedMs|` +
		`began|last_active|.*bytes|.*sha256|hash|prev|claude_identity|argv|version|arbiter_version|action|pid|message_time|at)$`)

// value returns a JSON value without the parts that differ between two runs.
func (f *normalizer) value(v any) any {
	switch v := v.(type) {
	case string:
		return f.text(v)
	case []any:
		for i := range v {
			v[i] = f.value(v[i])
		}
	case map[string]any:
		for name, member := range v {
			if v[name] = f.value(member); measured.MatchString(name) {
				v[name] = "…"
			}
		}
	}
	return v
}

func (f *normalizer) decoded(t *testing.T, raw string) any {
	t.Helper()
	var v any
	err := json.Unmarshal([]byte(raw), &v)
	testkit.Need(t, err == nil, "%v: %s", err, raw)
	return f.value(v)
}

// encoded returns a value as JSON, a line for whatever fits into one of a width.
func (f *normalizer) encoded(t *testing.T, v any, width int) string {
	t.Helper()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	testkit.OK(t, enc.Encode(v))
	return testkit.FoldJSON(t, out.Bytes(), width) + "\n"
}

func (f *normalizer) json(t *testing.T, raw string) string {
	t.Helper()
	return f.encoded(t, f.decoded(t, raw), 200)
}

// events returns a process's lines by agent and event. Lines of one kind keep their order; what different
// agents do at the same time has no fixed order. Events whose number depends on the machine are left out.
func (f *normalizer) events(t *testing.T, run []contract.Line) string {
	t.Helper()
	of := map[string][]string{}
	for _, l := range run {
		raw := testkit.Must(contract.EncodeLine(nil, l.Seq, l.Time, l.Event))(t)
		name := l.ID + " " + l.Body.EventName()
		line := f.encoded(t, f.decoded(t, string(raw)), math.MaxInt)
		switch l.Body.(type) {
		case contract.Delta, contract.Context, contract.Cost:
			continue
		}
		of[name] = append(of[name], line)
	}
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(of)) {
		for _, line := range of[name] {
			out.WriteString(line)
		}
	}
	return out.String()
}

// sentLater matches the second Orchestrator's first message if it came while the Arbiter's turn was running:
// then the end of that turn sends it, and the audit names the Arbiter.
var sentLater = regexp.MustCompile(
	`("by":)"arbiter"(.*"message_id":"MESSAGE-orch-2-arbiter-1".*"session":)"SESSION-arbiter-1"(,"what":"sent")`)

// audit returns the lines of an audit, sorted, without the hash chain that joins them.
func (f *normalizer) audit(t *testing.T, raw string) string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(raw) {
		v := f.decoded(t, line).(map[string]any)
		if v["what"] == "end" {
			continue // it has numbers of the journal
		}
		for _, name := range []string{"hash", "prev", "seq", "time"} {
			delete(v, name)
		}
		if detail, ok := v["detail"].(map[string]any); ok {
			delete(detail, "claude_sha256") // reported only if it was computed in time
		}
		lines = append(lines, sentLater.ReplaceAllString(f.encoded(t, v, math.MaxInt), `$1"orch-2"$2"SESSION-orch-2-1"$3`))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// sameAudit checks that the audit for people has the same entries as the one for programs.
func (f *normalizer) sameAudit(t *testing.T, text, raw string) {
	t.Helper()
	people := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	programs := strings.Split(strings.TrimSuffix(raw, "\n"), "\n")
	testkit.Need(t, len(people) == len(programs), "%d lines for people, %d for programs", len(people), len(programs))
	for i, line := range programs {
		var l struct{ By, Channel, What, About string }
		testkit.OK(t, json.Unmarshal([]byte(line), &l))
		who := l.By
		if l.Channel != "" {
			who += "@" + l.Channel
		}
		testkit.Includes(t, fmt.Sprintf("line %d is for people and for programs %s", i+1, line), people[i], who,
			" "+l.What+" ",
			l.About)
	}
}

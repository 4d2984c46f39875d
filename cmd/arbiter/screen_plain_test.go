package main

import (
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	pty "github.com/arbiter-cli/arbiter/rehearsal/terminal"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// TestPlainFromTheFirstWordToTheEnd plays the screen's play with --plain in a terminal: a task, an answer, a
// permission by the number of its request. The output contains nothing but lines, and the run is the same as on
// the screen.
func TestPlainFromTheFirstWordToTheEnd(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, who player) {
		h := newTestHome(t, who)
		p := h.open(append([]string{"--plain"}, h.rehearsing(absolute(t, "testdata/scenarios/screen.yaml"))...)...)
		p.await("Speak, mortal.")
		p.Type("Make a thing\n")
		p.await("What shall it be called?")
		p.Type("call it dawn\n")
		p.await("1 y")
		p.Type("/cost\n")
		p.await("$")
		p.Type("/timeline\n")
		p.await("waits for you")
		p.Type("/runs\n")
		p.await("live")
		p.await("To show a live one")
		p.Type("/agents\n")
		p.await("planner")
		p.Type("/plan 9 done\n")
		p.await("no step 9")
		p.Type("1 y\n")
		text := h.ended(p, contract.ExitComplete)
		for _, want := range []string{
			"It is done. The file is there.", "asked    Make a thing", "done     complete: The file is there.",
			"proved   nothing was checked", "files    not known", "To resume: arbiter --plain --resume --session ",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("it lacks %q:\n%s", want, text)
			}
		}
		out := strings.TrimPrefix(string(p.Output()), "\x1b]2;"+theTitle+"\a")
		if faults := pty.Lines.Check([]byte(out)); len(faults) > 0 {
			t.Errorf("what it sent: %q", faults)
		}
		told := testkit.Must(contractLines(h.output("replay", h.runs()[0])))(t)
		want := []string{"Make a thing", "call it dawn", "It stands.",
			"COMPLETE did not take effect yet. The supervisor finds these points open:", "It is done."}
		var said []string
		for _, l := range told {
			if m, ok := l.Body.(contract.Message); ok && m.Kind != "brief" {
				line, _, _ := strings.Cut(m.Text, "\n")
				said = append(said, line)
			}
		}
		testkit.Same(t, "what was said", want, said)
	})
}

// TestPlainIsInterrupted: Ctrl+C ends the run in order, and --plain resumes it.
func TestPlainIsInterrupted(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	p := h.open(append([]string{"--plain", "--task", "Make a thing"},
		h.rehearsing(absolute(t, "testdata/scenarios/screen.yaml"))...)...)
	p.await("What shall it be called?")
	p.press("Ctrl+C")
	if text := h.ended(p, contract.ExitInterrupted); !strings.Contains(text, "arbiter --plain --resume --session") {
		t.Errorf("it says:\n%s", text)
	}
	p = h.open("--plain", "--resume")
	p.await("What shall it be called?")
	p.Type("call it dawn\n")
	p.await("1 y")
	p.Type("1 y\n")
	h.ended(p, contract.ExitComplete)
}

// TestPlainInput: at the end of the input no more human input can come, but the run continues.
func TestPlainInput(t *testing.T) {
	testkit.Long(t)
	h := newTestHome(t, players(t)[0])
	for _, tt := range []struct {
		name, scenario, in, want string
		args                     []string
		exit                     contract.Exit
	}{
		{"nothing", "parallel", "", "there is no task", nil, contract.ExitUsage},
		{"a task", "parallel", "Two threads\n", "It is done.", nil, contract.ExitComplete},
		{"a task without its newline", "parallel", "Two threads", "It is done.", nil, contract.ExitComplete},
		{"a task on the command line", "parallel", "", "It is done.", []string{"--task", "Two threads"},
			contract.ExitComplete},
		{"nobody to ask", scenarioFile(t, talk), "Make a thing\n", "And then?", nil, contract.ExitNeedsInput},
	} {
		c := runIn(t, h.env, h.work, tt.in, append(append(h.rehearsing(tt.scenario), "--plain"), tt.args...)...)
		out := c.out + c.errs
		if c.code != tt.exit || !strings.Contains(out, tt.want) {
			t.Errorf("%s: exit code %d, want %d:\n%s", tt.name, c.code, tt.exit, out)
		}
		if strings.ContainsAny(out, "\x1b\r\a") {
			t.Errorf("%s: control characters in %q", tt.name, out)
		}
	}
}

// TestPlainHelp: every command that the help of --plain lists works there, and each command that works in the
// same way as on the screen is listed.
func TestPlainHelp(t *testing.T) {
	for _, s := range view.EditorCommands {
		_, told := view.SlashAnswers[s.Name]
		_, body, _ := view.CommandsFor(nil, view.EditorCommand{Name: s.Name, Rest: "set"})
		listed := strings.Contains(plainHelp(), s.Usage()+": "+s.Help)
		inPlain := s.Name == "inbox" || s.Name == "answer" // handled in package plain
		if listed && !told && !body && !inPlain && plainHere[s.Name] == nil || !listed && (told || body) {
			t.Errorf("%s: listed %v", s.Usage(), listed)
		}
	}
}

// TestFocusInWords: /focus says who the agent is, what its brief is, and what it said and did last, with the
// times.
func TestFocusInWords(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	a := &supervisor.Agent{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 2},
		Mode: "developer", Brief: "Mend it.\n\nAll of it."},
		AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentBusy}}
	items := []eventtext.ActivityItem{{At: at, Text: "I begin"}}
	for range maxFocusItems {
		items = append(
			items,
			eventtext.ActivityItem{At: at, Until: at.Add(2 * time.Second), Tool: "Edit", Summary: "a.go", Added: 3},
		)
	}
	items = append(
		items,
		eventtext.ActivityItem{At: at, Until: at.Add(time.Second), Tool: "Bash", Summary: "go vet", Failed: true,
			Result: "exit\x1b[31m 1"},
	)
	s := &supervisor.State{}
	s.Agents = []*supervisor.Agent{a}
	s.Options.Rehearsal = true
	got := focusText(s, a, items)
	for _, want := range []string{" (developer): ", "process 2, ", "$0.00 simulated.\n", "Its brief: Mend it.\n",
		"- 03:04:05 Edit a.go, +3 -0 lines, 2 s.\n", "- 03:04:05 Bash go vet, failed: exit"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not told:\n%s", want, got)
		}
	}
	if strings.Contains(got, "I begin") || strings.Contains(got, "\x1b") || strings.Count(got, "\n- ") != maxFocusItems {
		t.Errorf("told\n%s", got)
	}
	if got := focusText(s, a, nil); !strings.Contains(got, "said and done nothing yet") {
		t.Errorf("told\n%s", got)
	}
}

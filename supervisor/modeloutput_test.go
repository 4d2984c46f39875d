package supervisor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// moreWays are ways, besides [ways], in which a text can come in that is not an agent's message.
var moreWays = map[string]way{
	"Process/words": {"", func(p *play, text string) {
		p.happen("orch-1", bridge.Error{Category: bridge.CatInternal, Message: text})
		p.happen("orch-1", bridge.Retry{Attempt: 1, DelayMS: 5, Reason: text})
		p.happen("orch-1", bridge.Delta{Text: text, Verdict: true})
		p.happen("orch-1", bridge.SubagentProgress{Description: text, ToolUse: "toolu_1", LastTool: text})
		p.happen("orch-1", bridge.Unknown{Name: "of another version", Raw: corpus.Object("text", text)})
		p.verdict("orch-1", report("question", "Which?", true))
	}},
	"Process/names": {"", func(p *play, text string) {
		p.call("arbiter", "spawn_orchestrator", `{"prompt":"go on"}`)
		p.do(input.Spawned{Agent: p.agent("orch-2").AgentRef, Result: bridge.SpawnResult{
			Window: 200_000, Argv: []string{text}, CWD: text, PermissionMode: text, ClaudeVersion: text, Env: []string{text},
		}})
		p.verdict("orch-1", report("question", "Which?", true))
	}},
	"Process/end": {"", func(p *play, text string) {
		p.happen("orch-1", bridge.Done{Exit: bridge.Exit{Code: 1, Stderr: text}})
	}},
	"Arbiter/names": {"", func(p *play, text string) {
		p.call("arbiter", "spawn_orchestrator", string(object("name", text)))
		p.call("arbiter", "release_orchestrator", string(object("id", text)))
		p.call("arbiter", text, string(object(text, text)))
		p.verdict("orch-1", report("question", "Which?", true))
	}},
}

// blank reports whether a text is empty when shown: then it is not a message.
func blank(text string) bool { return strings.TrimSpace(sanitize.Text(text)) == "" }

// teller lets agents say texts, and knows the effects of a plain text.
type teller struct {
	base  *play
	plain map[string]*play // by way
}

// sayIt lets a text come in by one way, and compares the result with that of a plain text.
func (b *teller) sayIt(t *testing.T, name string, c corpus.Case) {
	t.Helper()
	w, ok := ways[name]
	if !ok {
		w = moreWays[name]
	}
	plain := b.plain[name]
	if plain == nil {
		plain = b.base.fork(t)
		w.say(plain, plainText)
		b.plain[name] = plain
	}
	p, s := b.base.fork(t), spoof{"modeloutput", c.Name, c.Valid()}
	if who, _, _ := strings.Cut(name, "/"); blank(s.text) && who != "Tool" && who != "Process" {
		s.text = "x" + s.text // without this the message would be empty, and be refused
	}
	w.say(p, s.text)
	if diff := cmp.Diff(plain.course(), p.course()); diff != "" {
		t.Errorf("%s, %s: another course than of a plain text (-plain +this):\n%s", name, c.Name, diff)
	}
	checkSenders(t, s, b.base.s, p)
	checkNothingApproved(t, s, p)
	ours := ownLines(t, plain)
	for _, e := range effects[input.Send](p) {
		checkRead(t, s, w.role, ours, p, e.Params)
	}
}

func allWays() []string {
	return append(slices.Sorted(maps.Keys(ways)), slices.Sorted(maps.Keys(moreWays))...)
}

// TestModelOutput lets each role say each text of the corpus in each of its ways. The run continues with any
// text as with a plain one, and a model reads the text only inside the envelope of its sender.
func TestModelOutput(t *testing.T) {
	b, names := &teller{spoofed(t), map[string]*play{}}, allWays()
	if b.base.s.Options.Delimiter != corpus.Delimiter {
		t.Fatal("the corpus imitates the envelopes of another run")
	}
	for i, c := range corpus.ModelOutput(t, "..") {
		for j, name := range names {
			switch {
			case c.Large() && name == [2]string{"Orchestrator/question", "Tool/output"}[i%2]: // too long to be recalled
			case c.Large(), len(c.Text) > 2<<10 && (i+j)%4 != 0, (i+j)%often(5, 1) != 0:
				continue // for time: the other texts cover the other ways
			}
			b.sayIt(t, name, c)
		}
	}
}

// FuzzModelOutput checks the same for any text.
func FuzzModelOutput(f *testing.F) {
	names := allWays()
	for i, c := range corpus.ModelOutput(f, "..") {
		if !c.Large() {
			f.Add(uint8(i), c.Text)
		}
	}
	f.Fuzz(func(t *testing.T, way uint8, text string) {
		b := &teller{spoofed(t), map[string]*play{}}
		b.sayIt(t, names[int(way)%len(names)], corpus.Case{Name: "fuzz", Text: text})
	})
}

// happenings are all events that an agent can cause, each with a text wherever possible.
func happenings(text string) []input.Body {
	var list []input.Body
	for _, b := range bridge.EventBodies() {
		body := corpus.Filled(reflect.TypeOf(b), text).Interface().(bridge.EventBody)
		list = append(list, input.AgentEvent{Event: bridge.Event{AgentRef: bridge.AgentRef{ID: text, Generation: 1},
			Body: body}})
	}
	return list
}

// TestModelOutputIsRecorded: an input with any text in all of its fields is the same input when the journal is
// read.
func TestModelOutputIsRecorded(t *testing.T) {
	at := time.Unix(1_800_000_000, 7)
	for i, c := range corpus.ModelOutput(t, "..") {
		text := c.Valid()
		inputs := happenings(text)
		for _, name := range slices.Sorted(maps.Keys(input.Kinds)) {
			if name != "agent_event" && name != "command" {
				inputs = append(inputs, corpus.Filled(input.Kinds[name], text).Interface().(input.Body))
			}
		}
		if !blank(text) {
			inputs = append(inputs, input.Command{Channel: input.ChannelStdin,
				Command: contract.Command{Body: contract.Say{Text: text}}})
		}
		if c.Large() {
			inputs = inputs[:1]
		}
		for j, f := range inputs {
			if (len(text) > 2<<10 || testkit.Race) && (i+j)%5 != 0 {
				continue
			}
			in := input.Input{At: at, From: input.Origin{By: "orch-1", Session: "s", Gen: 1}, Body: f}
			raw, err := input.EncodeInput(in)
			if err != nil {
				t.Fatalf("%s: %T: %v", c.Name, f, err)
			}
			if bytes.ContainsAny(raw, "\n\r") || !json.Valid(raw) {
				t.Errorf("%s: %T: %.300q is not one line of JSON", c.Name, f, raw)
			}
			back, err := input.DecodeInput(raw)
			if err != nil {
				t.Fatalf("%s: %T: %v", c.Name, f, err)
			}
			testkit.Same(t, fmt.Sprintf("%s: (-written +read):\n%.2000s", c.Name, cmp.Diff(f, back.Body)), f,
				back.Body)
		}
	}
}

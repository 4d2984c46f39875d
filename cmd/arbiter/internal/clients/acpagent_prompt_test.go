package clients

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestPromptText: advertised content is accepted; anything else is refused with advice.
func TestPromptText(t *testing.T) {
	code, none := "x := 1", ""
	text := func(s string) contentBlock { return contentBlock{Type: "text", Text: s} }
	link := func(uri string) contentBlock { return contentBlock{Type: "resource_link", URI: uri} }
	file := func(text *string) contentBlock {
		return contentBlock{Type: "resource", Resource: &resource{URI: "file:///a.go", Text: text}}
	}
	for name, c := range map[string]struct {
		blocks     []contentBlock
		want, fail string
	}{
		"text":            {blocks: []contentBlock{text(" Do it ")}, want: "Do it"},
		"parts":           {blocks: []contentBlock{text("Do "), text("it")}, want: "Do it"},
		"a file":          {blocks: []contentBlock{link("file:///a%20b.go")}, want: "/a b.go"},
		"lines of a file": {blocks: []contentBlock{link("file:///a.go#L3")}, want: "/a.go#L3"},
		"a page":          {blocks: []contentBlock{link("https://a.org/")}, want: "https://a.org/"},
		"text of a file": {blocks: []contentBlock{text("See"), file(&code)},
			want: "See\n\n/a.go:\n```\nx := 1\n```"},
		"an empty file": {blocks: []contentBlock{file(&none)}, want: "/a.go:\n```\n\n```"},
		"bytes":         {blocks: []contentBlock{file(nil)}, fail: "is not text"},
		"an image":      {blocks: []contentBlock{{Type: "image"}}, fail: `content of type "image"`},
		"nothing":       {fail: "the prompt is empty"},
		"too much":      {blocks: []contentBlock{text(strings.Repeat("a", maxPrompt+1))}, fail: "put it into a file"},
	} {
		got, err := promptText(c.blocks)
		if got != c.want || (err == nil) != (c.fail == "") || err != nil && !strings.Contains(err.Error(), c.fail) {
			t.Errorf("%s: %.80q, %v", name, got, err)
		}
	}
}

// TestAnswers: a prompt continues stopped work, chooses an offered option, or else is a message.
func TestAnswers(t *testing.T) {
	inbox := func(i ...control.InboxItem) control.Status { return control.Status{Inbox: i} }
	question := control.InboxItem{ID: "question-1", Kind: "question"}
	parked := control.InboxItem{Kind: "recovery", Choices: []string{"retry", "cancel"}}
	failed := control.InboxItem{Kind: "recovery", Choices: []string{"retry", "skip"}, Optional: true}
	choose := func(option string) []contract.CommandBody {
		return []contract.CommandBody{contract.Choose{Option: option}}
	}
	note, steer := contract.Say{Text: "go"}, contract.Say{Text: "go", Strength: contract.Steer}
	for name, c := range map[string]struct {
		st   control.Status
		text string
		want []contract.CommandBody
	}{
		"at work":    {control.Status{}, "go", []contract.CommandBody{steer}},
		"a question": {inbox(question), "go", []contract.CommandBody{note}},
		"paused":     {control.Status{Paused: true}, "go", []contract.CommandBody{note, contract.Continue{}}},
		"halted":     {control.Status{Paused: true, Halted: true}, "go", []contract.CommandBody{contract.Continue{}, note}},
		"a choice":   {inbox(parked), "Cancel.", choose("cancel")},
		"a message to one that is parked": {inbox(parked), "go",
			[]contract.CommandBody{contract.Choose{Option: "retry"}, note}},
		"an agent that failed":     {inbox(failed), "go", []contract.CommandBody{steer}},
		"what becomes of its work": {inbox(failed), "skip", choose("skip")},
		"an answer that sounds like it": {inbox(failed, question), "skip",
			[]contract.CommandBody{contract.Say{Text: "skip"}}},
	} {
		if d := cmp.Diff(c.want, answers(c.st, c.text)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestLines: a line that is not a message is refused, and the next one is read. A line without end closes the
// connection.
func TestLines(t *testing.T) {
	in := "\n  \r\nnonsense\n[1]\n{\"method\":\"a\"}\n" + strings.Repeat("x", acpMaxLine+1)
	var out bytes.Buffer
	s := newStream(io.MultiReader(strings.NewReader(in)), &out)
	var v struct{ Method string }
	if err := s.ReadObject(&v); err != nil || v.Method != "a" {
		t.Fatalf("%v, %v", v, err)
	}
	got := out.String()
	if strings.Count(got, "\n") != 2 || !strings.Contains(got, `"id":null,"error":{"code":-32700`) ||
		!strings.Contains(got, "-32600") {
		t.Errorf("refused: %s", got)
	}
	if err := s.ReadObject(&v); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("a line without an end: %v", err)
	}
}

// TestModes: allow-all can be chosen only if the risk was accepted, or if the run is in that mode already.
func TestModes(t *testing.T) {
	careful, reckless := ACPConfig{}, ACPConfig{AcceptRisk: true}
	if careful.canChoose(allowAll, "ask") || !careful.canChoose(allowAll, allowAll) ||
		!reckless.canChoose(allowAll, "ask") {
		t.Error("allow-all")
	}
	if careful.canChoose("plan", "ask") || len(careful.options("ask")[0].Options) != 3 {
		t.Errorf("%+v", careful.options("ask"))
	}
}

package history

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestEditedWords: an edited message stays where it was first sent, with its latest text and its delivery;
// every version is among all events.
func TestEditedWords(t *testing.T) {
	c := New(Memory)
	word := func(text string, edited bool) {
		addAll(c, contract.Human, contract.Message{MessageID: "m1", From: contract.Human, To: contract.Arbiter,
			Text: text, Edited: edited})
	}
	word("first", false)
	addAll(c, contract.Human, contract.Message{MessageID: "m2", From: contract.Human, To: "orch-1", Text: "other"})
	before := c.Talk().Stamp(0)
	word("second", true)
	between := c.Talk().Stamp(0)
	word("third", true)
	if after := c.Talk().Stamp(0); before == between || between == after {
		t.Errorf("stamps %d, %d, %d: the screen does not notice", before, between, after)
	}
	addAll(c, contract.Arbiter, contract.Delivered{MessageID: "m1"})
	addAll(c, contract.Human, contract.Withdrawn{MessageID: "m2"})
	if n := c.Talk().Len(); n != 2 {
		t.Fatalf("%d entries in the conversation", n)
	}
	if n := c.All().Len(); n != 6 {
		t.Fatalf("%d events in all", n)
	}
	e, _ := c.Talk().Entry(0)
	if e.Edited == nil || e.Edited.Text != "third" || e.Event.Body.(contract.Message).Text != "first" {
		t.Errorf("entry %+v", e)
	}
	if e.Outcome == nil || e.Outcome.Body.EventName() != "delivered" {
		t.Errorf("outcome %+v", e.Outcome)
	}
	if e, _ = c.Talk().Entry(1); e.Edited != nil || e.Outcome == nil || e.Outcome.Body.EventName() != "withdrawn" {
		t.Errorf("entry %+v, outcome %+v", e, e.Outcome)
	}
	// An edit of an unknown message is shown like a new message.
	addAll(c, contract.Human, contract.Message{MessageID: "m9", From: contract.Human, To: contract.Arbiter, Text: "late",
		Edited: true})
	if n := c.Talk().Len(); n != 3 {
		t.Errorf("%d entries in the conversation", n)
	}
}

// TestAnsweredQuestions: the human's message to the Arbiter answers the open
// question, even if it was asked again, and is an entry of its own.
func TestAnsweredQuestions(t *testing.T) {
	c := New(Memory)
	message := func(from, to, kind string) {
		addAll(c, from, contract.Message{MessageID: from + kind, From: from, To: to, Kind: kind, Text: "x"})
	}
	addAll(c, contract.Arbiter, contract.Question{Text: "Which?"}, contract.Question{Text: "Which?"})
	message(contract.Human, "orch-1", "instruction")
	message("orch-1", contract.Arbiter, "done")
	message(contract.Human, contract.Arbiter, "answer")
	addAll(c, contract.Human, contract.Delivered{MessageID: "humananswer"})
	addAll(c, contract.Arbiter, contract.Question{Text: "And now?"})
	want := []string{"0 arbiter question > message", "1 arbiter question > message", "2 human message",
		"3 orch-1 message", "4 human message > delivered", "6 arbiter question"}
	if diff := cmp.Diff(want, shape(t, c.Talk())); diff != "" {
		t.Error(diff)
	}
}

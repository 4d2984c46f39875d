package supervisor

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// ConversationReading is what is needed to render a message for its reader.
type ConversationReading struct {
	Delimiter string // of the run's envelopes
	Sender    string // name of the sender
	Untrusted bool   // the sender is an Orchestrator
	Returned  string // what a human did with the reader's session; empty: nothing
	Standing  string // the state of the task, for the Arbiter; empty: it is not included
	Demand    string // demand to hand off; empty: none
}

// Render puts a message into its envelope: the sender is determined by the pipe, never by text. The work log
// that is sent with the message comes first.
func (s *ConversationState) Render(m Mail, r ConversationReading) string {
	e := Envelope{Delimiter: r.Delimiter, From: m.From, Name: r.Sender, Kind: m.Kind,
		ID: m.ID}
	for _, id := range m.Carries {
		for _, entry := range s.WorkLog {
			if entry.ID == id {
				e.Parts = append(e.Parts, EnvelopePart{
					Title: "work log", From: entry.From, Kind: entry.Kind, At: entry.At, Text: entry.Text,
					Untrusted: true,
				})
			}
		}
	}
	if r.Returned != "" {
		e.Parts = append(e.Parts, EnvelopePart{Title: "your session", From: contract.Supervisor,
			Text: r.Returned})
	}
	e.Parts = append(e.Parts, EnvelopePart{Text: m.Text, Untrusted: r.Untrusted})
	for _, a := range m.Attached {
		e.Parts = append(e.Parts, EnvelopePart{Title: a.Title, From: a.From, Kind: a.Kind, Text: a.Text,
			Untrusted: !a.Trusted})
	}
	if len(m.Images) > 0 {
		e.Parts = append(e.Parts, EnvelopePart{Title: "images", From: contract.Supervisor, Text: imagesText(m.Images)})
	}
	if r.Standing != "" {
		e.Parts = append(e.Parts, EnvelopePart{Title: "where the task stands", From: contract.Supervisor,
			Text: r.Standing})
	}
	if r.Demand != "" {
		e.Parts = append(e.Parts, EnvelopePart{Title: "context", From: contract.Supervisor, Text: r.Demand})
	}
	return e.Render()
}

// HandoffBrief renders what a new Arbiter receives from its predecessor, to be put before a message. sender is
// the supervisor's name.
func HandoffBrief(delimiter, sender, text string) string {
	return Envelope{
		Delimiter: delimiter, From: contract.Supervisor, Name: sender,
		Kind:  "inheritance",
		Parts: []EnvelopePart{{Text: text}},
	}.Render()
}

// imagesText lists the images that follow a message, with their files.
func imagesText(images []contract.Image) string {
	var b strings.Builder
	b.WriteString("These images follow, in this order. Agents that are not shown them can read the files.")
	for i, image := range images {
		fmt.Fprintf(&b, "\n%d. %s, %s", i+1, image.Size(), image.Path)
	}
	return b.String()
}

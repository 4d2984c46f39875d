package supervisor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// DocumentText renders a document for a model.
func DocumentText(d *verdict.Document, receipts []verdict.Receipt, generatedBecause string) string {
	text := d.Proven(receipts)
	if generatedBecause != "" {
		return "# Record, drawn up by the supervisor\n\n" + text
	}
	if len(d.Checks) > 0 {
		passed, failed, open := d.Tally(receipts)
		text += fmt.Sprintf("\nThe supervisor ran the checks itself: %d passed, %d failed, %d prove nothing.\n",
			passed, failed, open)
	}
	return text
}

// successorText is a document as a successor receives it.
func successorText(old *Agent) string {
	text := "This is its own word. Check what you build on; ask it with ask_predecessor while it is there.\n\n"
	switch {
	case old.GeneratedWhy != "":
		text = "It could not hand off itself. "
	case len(old.Receipts) > 0:
		text = "This is its own word, with what the supervisor found when it ran the checks. Check what you build on; ask " +
			"it with ask_predecessor while it is there.\n\n"
	}
	text += "Change nothing yet. First read the document against the files, then say how you understood it: what holds, " +
		"what was rejected, what is next (kind question). The Arbiter examines you, and then you begin.\n\n"
	return text + DocumentText(old.Document, old.Receipts, old.GeneratedWhy)
}

// ForSuccessor returns the brief of a successor, and what its predecessor left.
func ForSuccessor(brief string, old *Agent) (string, []ConversationAttached) {
	heading := "## Handed over by " + old.Name + " (" + old.ID + ")\n\n"
	list := []ConversationAttached{{Title: "handed over", From: old.ID, Kind: "document",
		Text: heading + successorText(old)}}
	h := Handover{Document: old.Document, Receipts: old.Receipts, Why: old.GeneratedWhy}
	return brief, append(list, findings(tallyOf(h))...)
}

// ForArbiter returns what the Arbiter reads with a document: the author's message, and attachments that the
// author did not write. A generated document still quotes the agent that it is about.
func ForArbiter(h Handover) (string, []ConversationAttached) {
	document := DocumentText(h.Document, h.Receipts, h.Why)
	switch {
	case h.Kind == KindDone || h.Kind == KindHandoff:
		return strings.TrimSpace(h.Message + "\n\n" + document), findings(joined(tallyOf(h), mergeOf(h)))
	}
	return h.Message, []ConversationAttached{{Title: "record", From: contract.Supervisor, Kind: "document",
		Text: strings.TrimSpace(document)}}
}

// tallyOf is what the supervisor says about a document's checks.
func tallyOf(h Handover) string {
	if h.Why != "" || len(h.Document.Checks) == 0 {
		return ""
	}
	passed, failed, open := h.Document.Tally(h.Receipts)
	return fmt.Sprintf("Of the %d checks of the document the supervisor found %d passed and %d failed; %d prove nothing. "+
		"Whatever else the document says of checks is its author's word.", len(h.Document.Checks), passed, failed, open)
}

// mergeOf is what the supervisor says about where the author's work is.
func mergeOf(h Handover) string {
	switch {
	case h.Merged == nil:
		return ""
	case h.Merged.Merged:
		return "The work is merged, and the checks ran on the merged files."
	}
	return "The work is NOT merged: " + h.Merged.Why + ". Have its author or a successor put that right and report done " +
		"again, or go on without it."
}

// joined joins the sentences that are not empty.
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), " ")
}

func findings(text string) []ConversationAttached {
	if text == "" {
		return nil
	}
	return []ConversationAttached{{Title: "checks", From: contract.Supervisor, Text: text, Trusted: true}}
}

// Event is the event that a document is passed on.
func (h *Handover) Event(from, to string) contract.Handoff {
	return contract.Handoff{
		From: from, To: to, Document: h.Document, Receipts: h.Receipts, Proofs: h.Document.Proofs(h.Receipts),
		GeneratedBecause: h.Why,
	}
}

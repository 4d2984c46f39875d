package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// longPast is a conversation of n messages, each with its number, and a tool call with its outcome after
// the message that follows.
func longPast(n int) (list []queuedEvent) {
	at := time.Date(1999, 12, 31, 12, 0, 0, 0, time.UTC)
	add := func(id string, b contract.Body) {
		at = at.Add(time.Second)
		list = append(list, queuedEvent{at: at, e: contract.Event{ID: id, Body: b}})
	}
	for i := range n {
		call := fmt.Sprint("call-", i)
		add("orch-1", contract.ToolUse{Tool: "Read", ToolUse: call, Input: []byte(`{"file_path":"loom.go"}`)})
		add("orch-1", contract.Message{MessageID: fmt.Sprint("m", i), From: "orch-1", To: "human", Kind: "report",
			Text: fmt.Sprintf("Thread number %d.", i)})
		add("orch-1", contract.ToolResult{ToolUse: call, Text: "loom"})
	}
	return list
}

// TestLongPast: the end of a long history is visible before its beginning was read, and when all was read,
// the reader is at the same place, with everything else above.
func TestLongPast(t *testing.T) {
	const messages = 3000
	play(t, 90, 30, func(o *Options, h *fakeHost) {
		h.past, h.slow = longPast(messages), make(chan struct{})
		o.Begin = &Begin{Resume: fakeRunID}
	}, func(s *scene) {
		s.Settle()
		s.Expect("Thread number 2999.", "THE WEAVING")
		if n := s.frontend.history.Talk().Len(); n >= messages {
			t.Fatalf("%d messages were read for the first frame", n)
		}
		s.host.present().does("arbiter", bridge.Notice{Text: "told meanwhile"})
		s.Press("Esc", "PgUp", "PgUp")
		s.Press("/")
		s.Type("number 7.\n")
		s.Expect("the rest is still being read")
		s.Press("F6")
		s.Expect("still being read")
		s.Press("Esc")
		s.Advance(2 * flashFor)
		before := place(s)

		close(s.host.slow)
		s.Settle()
		if n := s.frontend.history.Talk().Len(); n < messages {
			t.Fatalf("%d messages when all was read", n)
		}
		if after := place(s); after != before || !strings.Contains(after, "Thread number") {
			t.Errorf("the reader was at\n%s\nand is at\n%s", before, after)
		}
		s.Press("/")
		s.Type("number 7.\n")
		s.Expect("Thread number 7.")
		s.Press("g")
		s.Expect("Thread number 0.")
		s.Press("G")
		s.Expect("Thread number 2999.", "told meanwhile")
		s.Press("F2", "g")
		s.Expect("Thread number 0.")
		s.Press("F6", "Home")
		s.Press("Down", "Enter")
		s.Expect("Thread number 0.")
	})
}

// place returns the visible part of the past.
func place(s *scene) string {
	var rows []string
	for _, row := range s.Rows() {
		if strings.Contains(row, "Thread number") {
			rows = append(rows, strings.TrimRight(row, " █│┃║▐"))
		}
	}
	return strings.Join(rows, "\n")
}

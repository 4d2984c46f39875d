package standin

import (
	"maps"
	"strings"
	"time"
)

// finish writes the turn's result and what goes with it. By then everything of
// the turn is in the transcript.
func (s *session) finish(t *turn, out outcome) {
	t.mu.Lock()
	folded, uuids := t.folded, t.uuids
	o := obj{
		"type": "result", "subtype": "success", "is_error": out.isError, "num_turns": 0, "stop_reason": nullable(out.stop),
		"duration_ms": time.Since(t.begun).Milliseconds(), "usage": t.usage.full(), "permission_denials": append([]obj{}, t.denials...),
		"queued_turn_count": 0, // also with user messages waiting (observed with CLI 2.1.329)
	}
	nameMessages(o, uuids)
	if !out.local {
		o["num_turns"], o["terminal_reason"] = 1+t.users, out.reason
	}
	t.mu.Unlock()
	maps.Copy(o, s.ledger.report())
	s.describeEnd(o, t, out)
	state := "completed"
	if out.isError || strings.HasPrefix(out.reason, "aborted_") {
		state = "cancelled"
	}
	for _, id := range folded {
		s.lifecycle(id, state)
	}
	s.main.tr.note(s.ledger.state())
	s.main.tr.flush()
	t.mu.Lock()
	all := t.all
	t.mu.Unlock()
	for _, m := range all {
		s.diary.message("ended", s.id, m)
	}
	s.emitResult(o)
	for _, id := range uuids[:len(uuids)-len(folded)] {
		s.lifecycle(id, state)
	}
	if s.inbox.empty(s.ctx) {
		s.setState("idle")
	}
}

// describeEnd adds what depends on how the turn ended.
func (s *session) describeEnd(o obj, t *turn, out outcome) {
	if out.subtype != "" {
		o["subtype"], o["errors"] = out.subtype, out.errors
	} else {
		o["result"] = out.text
		if !out.local {
			o["api_error_status"] = nil
		}
	}
	if out.command != "" {
		o["local_command"] = out.command
	}
	if out.apiClass != "" {
		o["api_error"] = out.apiClass
	}
	if out.api != nil {
		if out.api.status != 0 {
			o["api_error_status"] = out.api.status
		}
		if out.api.kind != "" {
			o["api_error_type"] = out.api.kind
		}
	}
	if v := t.verdictState().accepted; out.reason == "completed" && len(v) > 0 {
		o["structured_output"] = v
	}
}

// emitResult counts and writes a result frame, as often as the faults want.
func (s *session) emitResult(o obj) {
	s.mu.Lock()
	o["result_index"] = s.results
	s.results++
	s.failed = o["is_error"] == true
	s.mu.Unlock()
	for range s.faults.resultCopies() {
		s.emit(maps.Clone(o))
	}
}

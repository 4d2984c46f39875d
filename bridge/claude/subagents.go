package claude

import (
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/transcript"
)

// subagents tracks blocking subagents by the tool use id of their Agent call. The reader owns it. A start
// comes from task_started; an end from task_notification, else from the call's tool result, else from the
// turn's end: no blocking subagent continues after it.
type subagents struct {
	emit    func(bridge.EventBody)
	called  map[string]string // Agent calls seen: description
	running []*subagent       // in the order of their starts
}

// subagent is the state of a running subagent. Its usage is reported twice, by task_progress and then by
// the frame of the message: the second report changes nothing.
type subagent struct {
	now, reported bridge.SubagentProgress
	context       int    // of its last message, by its frames
	total         int    // the same by task events, including the answer; 0: not reported yet
	ahead         bool   // total includes the message whose frame has not come yet
	message       string // its last message
	model         string
	calls         int // of tools, by its frames
	// weight is its usage since the costs were read last, by model.
	weight map[string]float64
	// ended is set when its last call is booked, but the costs were not read since.
	ended *bridge.SubagentStop
}

func newSubagents(emit func(bridge.EventBody)) *subagents {
	return &subagents{emit: emit, called: map[string]string{}}
}

// find returns a running subagent, or nil.
func (s *subagents) find(id string) *subagent {
	if i := slices.IndexFunc(s.running, func(sub *subagent) bool { return sub.now.ToolUse == id }); i >= 0 {
		return s.running[i]
	}
	return nil
}

// start reports the start of a subagent; it returns false for other tasks.
func (s *subagents) start(f taskStarted) bool {
	// A Bash command that runs for some seconds becomes a task too, of another type.
	if f.TaskType != "local_agent" || f.ToolUse == "" || s.find(f.ToolUse) != nil {
		return false
	}
	if f.Description == "" {
		f.Description = s.called[f.ToolUse]
	}
	first := bridge.SubagentProgress{Description: f.Description, ToolUse: f.ToolUse}
	s.running = append(s.running, &subagent{now: first, reported: first, weight: map[string]float64{}})
	s.emit(bridge.SubagentStart{Description: f.Description, ToolUse: f.ToolUse, Type: f.AgentType})
	return true
}

// progress records a task event's figures.
func (s *subagents) progress(f taskProgress) {
	sub := s.find(f.ToolUse)
	if sub == nil || sub.ended != nil {
		return
	}
	sub.ahead = sub.ahead || sub.total != f.Tokens
	sub.total = f.Tokens
	sub.now.ToolUses = max(sub.calls, f.ToolUses)
	sub.now.DurationMS = max(sub.now.DurationMS, f.DurationMS)
	if f.LastTool != "" {
		sub.now.LastTool = f.LastTool
	}
	sub.now.Tokens = max(sub.context, sub.total)
}

// addMessage records a frame of a subagent's message.
func (s *subagents) addMessage(f assistantFrame) {
	sub := s.find(f.Parent)
	if sub == nil || sub.ended != nil {
		return
	}
	for _, b := range f.Blocks {
		if b.Type == "tool_use" {
			sub.calls++
			sub.now.LastTool = b.Name
		}
	}
	sub.now.ToolUses = max(sub.calls, sub.now.ToolUses)
	sample := f.sample()
	if sample.Sidechain = false; !sample.Counts() || f.MessageID == sub.message {
		return
	}
	sub.message, sub.model, sub.context = f.MessageID, f.Model, sample.Usage.Context()
	sub.weight[f.Model] += weight(sample.Usage)
	if !sub.ahead {
		sub.total = 0 // of an earlier message
	}
	sub.ahead = false
	sub.now.Tokens = max(sub.context, sub.total)
}

// report reports what has changed of a subagent since the last report; elapsed time alone is not a change.
func (s *subagents) report(sub *subagent) {
	same := sub.reported
	same.DurationMS = sub.now.DurationMS
	if same != sub.now {
		sub.reported = sub.now
		s.emit(sub.now)
	}
}

// finish records the end of a subagent whose costs were not read yet.
func (s *subagents) finish(id, status string, tokens int) bool {
	sub := s.find(id)
	if sub == nil || sub.ended != nil {
		return false
	}
	if unseen := tokens - sub.context; unseen > 0 {
		// A subagent's report has no frame. It was written in addition to the last message.
		sub.weight[sub.model] += weight(transcript.Usage{CacheRead: sub.context, CacheCreation: unseen})
	}
	if tokens > 0 {
		sub.now.Tokens = tokens
	}
	sub.ended = &bridge.SubagentStop{Description: sub.now.Description, ToolUse: id, Status: status, Tokens: tokens}
	return true
}

// end reports the end of the subagents whose end was recorded and, with a status, of all others: the turn, or the
// process, left them running.
func (s *subagents) end(status string) {
	s.running = slices.DeleteFunc(s.running, func(sub *subagent) bool {
		if sub.ended == nil && status == "" {
			return false
		}
		s.report(sub)
		if sub.ended == nil {
			sub.ended = &bridge.SubagentStop{Description: sub.now.Description, ToolUse: sub.now.ToolUse, Status: status}
		}
		s.emit(*sub.ended)
		delete(s.called, sub.now.ToolUse)
		return true
	})
	if status != "" {
		clear(s.called)
	}
}

package claude

import "github.com/arbiter-cli/arbiter/bridge"

// subagents tracks blocking subagents by the tool use id of their Agent call. The reader owns it. A start
// comes from task_started; an end from task_notification, else from the call's tool result, else from the
// turn's end: no blocking subagent continues after it.
type subagents struct {
	called  map[string]string // Agent calls seen: description
	running map[string]*subagent
	order   []string // of running, so that they end in a fixed order
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

func newSubagents() *subagents {
	return &subagents{called: map[string]string{}, running: map[string]*subagent{}}
}

func (s *subagents) start(f taskStarted) (bridge.SubagentStart, bool) {
	// A Bash command that runs for some seconds becomes a task too, of another type.
	if f.TaskType != "local_agent" || f.ToolUse == "" {
		return bridge.SubagentStart{}, false
	}
	if _, ok := s.running[f.ToolUse]; ok {
		return bridge.SubagentStart{}, false
	}
	if f.Description == "" {
		f.Description = s.called[f.ToolUse]
	}
	first := bridge.SubagentProgress{Description: f.Description, ToolUse: f.ToolUse}
	s.running[f.ToolUse] = &subagent{now: first, reported: first, weight: map[string]float64{}}
	s.order = append(s.order, f.ToolUse)
	return bridge.SubagentStart{Description: f.Description, ToolUse: f.ToolUse, Type: f.AgentType}, true
}

// progress records a task event's figures.
func (s *subagents) progress(f taskProgress) {
	sub, ok := s.running[f.ToolUse]
	if !ok || sub.ended != nil {
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
	sub, ok := s.running[f.Parent]
	if !ok || sub.ended != nil {
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

// changed returns what has changed of a subagent since the last report; elapsed time alone is not a change.
func (s *subagents) changed(id string) (bridge.SubagentProgress, bool) {
	sub, ok := s.running[id]
	if !ok {
		return bridge.SubagentProgress{}, false
	}
	same := sub.reported
	same.DurationMS = sub.now.DurationMS
	if same == sub.now {
		return bridge.SubagentProgress{}, false
	}
	sub.reported = sub.now
	return sub.now, true
}

// finish records the end of a subagent whose costs were not read yet.
func (s *subagents) finish(id, status string, tokens int) bool {
	sub, ok := s.running[id]
	if !ok || sub.ended != nil {
		return false
	}
	if unseen := tokens - sub.context; unseen > 0 {
		// A subagent's report has no frame. It was written in addition to the last message.
		sub.weight[sub.model] += weight(tokensOf(&bridge.Usage{CacheRead: sub.context, CacheCreation: unseen}))
	}
	if tokens > 0 {
		sub.now.Tokens = tokens
	}
	sub.ended = &bridge.SubagentStop{Description: sub.now.Description, ToolUse: id, Status: status, Tokens: tokens}
	return true
}

// finished returns the subagents whose end was recorded.
func (s *subagents) finished() []bridge.SubagentStop {
	var ends []bridge.SubagentStop
	for _, id := range s.order {
		if sub, ok := s.running[id]; ok && sub.ended != nil {
			ends = append(ends, *sub.ended)
		}
	}
	return ends
}

func (s *subagents) stop(id, status string, tokens int) (bridge.SubagentStop, bool) {
	sub, ok := s.running[id]
	delete(s.called, id)
	if !ok {
		return bridge.SubagentStop{}, false
	}
	delete(s.running, id)
	if sub.ended != nil {
		return *sub.ended, true
	}
	return bridge.SubagentStop{Description: sub.now.Description, ToolUse: id, Status: status, Tokens: tokens}, true
}

// stopAll ends all subagents that still run when the turn ends.
func (s *subagents) stopAll(status string) []bridge.SubagentStop {
	var stops []bridge.SubagentStop
	for _, id := range s.order {
		if stop, ok := s.stop(id, status, 0); ok {
			stops = append(stops, stop)
		}
	}
	s.order = nil
	clear(s.called)
	return stops
}

package claude

import "github.com/arbiter-cli/arbiter/bridge"

// subagents follows blocking subagents by the tool use id of their Agent call.
// The reader owns it. Starts come from task_started; ends from
// task_notification, else from the call's tool result, else from the turn's
// end, which no blocking subagent outlives.
type subagents struct {
	called  map[string]string // Agent calls seen: description
	running map[string]string
	order   []string // of running, for a stable end
}

func newSubagents() *subagents {
	return &subagents{called: map[string]string{}, running: map[string]string{}}
}

// agentCall is the input of the Agent tool (called Task in init.tools and by old CLIs).
type agentCall struct {
	Description string `json:"description"`
	Type        string `json:"subagent_type"`
}

func isAgentTool(name string) bool { return name == "Agent" || name == "Task" }

func (s *subagents) call(id, description string) { s.called[id] = description }

func (s *subagents) start(f taskStarted) (bridge.SubagentStart, bool) {
	// A Bash that runs for some seconds becomes a task too, of another type.
	if f.TaskType != "local_agent" || f.ToolUse == "" {
		return bridge.SubagentStart{}, false
	}
	if _, ok := s.running[f.ToolUse]; ok {
		return bridge.SubagentStart{}, false
	}
	if f.Description == "" {
		f.Description = s.called[f.ToolUse]
	}
	s.running[f.ToolUse] = f.Description
	s.order = append(s.order, f.ToolUse)
	return bridge.SubagentStart{Description: f.Description, ToolUse: f.ToolUse, Type: f.AgentType}, true
}

func (s *subagents) stop(id, status string, tokens int) (bridge.SubagentStop, bool) {
	description, ok := s.running[id]
	delete(s.called, id)
	if !ok {
		return bridge.SubagentStop{}, false
	}
	delete(s.running, id)
	return bridge.SubagentStop{Description: description, ToolUse: id, Status: status, Tokens: tokens}, true
}

// stopAll ends what the turn's end left open.
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

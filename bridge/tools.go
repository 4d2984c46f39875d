package bridge

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Tools by what they do, with Claude Code's names (as of CLI 2.1.329, and older ones). Drivers of other makes report
// their tools by these names.
var (
	readers = strings.Fields("Read Glob Grep LS NotebookRead")
	editors = strings.Fields("Edit Write MultiEdit NotebookEdit")

	// harmless tools only affect the session itself.
	harmless = strings.Fields("TodoWrite TodoRead TaskCreate TaskGet TaskList TaskUpdate TaskOutput TaskStop BashOutput " +
		"KillShell KillBash ToolSearch " + VerdictTool)

	// others are listed only to recognise misspelled names.
	others = strings.Fields("Bash WebFetch WebSearch AskUserQuestion EnterPlanMode ExitPlanMode Agent Task Skill " +
		"SlashCommand Workflow ScheduleWakeup CronCreate CronDelete CronList Monitor SendMessage ListAgents " +
		"EnterWorktree ExitWorktree PushNotification RemoteTrigger ListMcpResourcesTool ReadMcpResourceTool " +
		"PowerShell LSP ReportFindings")
)

// VerdictTool is the tool with which an agent ends its turn with a verdict. It does nothing else.
const VerdictTool = "StructuredOutput"

// KnownTools returns the names of all tools that are not an MCP server's.
func KnownTools() []string { return slices.Concat(readers, editors, harmless, others) }

// MayWrite reports whether a tool, or what it starts, can change files of the workspace.
func MayWrite(tool string) bool {
	_, own := OwnTool(tool)
	return !own && !IsReader(tool) && !slices.Contains(harmless, tool) && tool != "WebFetch" && tool != "WebSearch"
}

// IsEditor reports whether a tool changes the one file that its input names.
func IsEditor(tool string) bool { return slices.Contains(editors, tool) }

// FileOf is the one file that the input of a call names; empty: none.
func FileOf(input json.RawMessage) string {
	var in struct {
		File     string `json:"file_path"`
		Notebook string `json:"notebook_path"`
	}
	_ = json.Unmarshal(input, &in) // another input names no file
	return cmp.Or(in.File, in.Notebook)
}

// IsReader reports whether a tool only reads files that its input names.
func IsReader(tool string) bool { return slices.Contains(readers, tool) }

// Globs are the characters that the CLI reads as patterns in the path of a rule, some of them even after a
// backslash.
const Globs = `*?[]{}!\`

// Balanced reports whether no closing parenthesis stands before its opening one: Bash(a),Bash(b) is not one rule.
func Balanced(spec string) bool {
	depth := 0
	for _, c := range spec {
		depth += strings.Count(string(c), "(") - strings.Count(string(c), ")")
		if depth < 0 {
			return false
		}
	}
	return true
}

// OwnTool reports whether a tool is one of Arbiter's, and returns its name there.
func OwnTool(tool string) (name string, ok bool) { return strings.CutPrefix(tool, "mcp__arbiter__") }

// StartsSubagent reports whether a tool starts subagents, under either of its names.
func StartsSubagent(tool string) bool { return tool == "Agent" || tool == "Task" }

// RunsLines reports whether a tool runs command lines: Monitor does so under the rules of Bash.
func RunsLines(tool string) bool { return tool == "Bash" || tool == "Monitor" }

// SameTool reports whether a rule for one tool also holds for another: Agent and Task are two names of one tool, Edit
// rules hold for all editors, Read rules for all readers, and Bash rules for Monitor.
func SameTool(rule, tool string) bool {
	return rule == tool || rule == "Edit" && IsEditor(tool) || rule == "Read" && IsReader(tool) ||
		rule == "Bash" && RunsLines(tool) || StartsSubagent(rule) && StartsSubagent(tool)
}

package policy

import (
	"slices"
	"strings"
)

// Tools of Claude Code by what they do (names as of CLI 2.1.329, and older ones).
var (
	readers = names("Read Glob Grep LS NotebookRead")
	editors = names("Edit Write MultiEdit NotebookEdit")

	// harmless tools only affect the session itself.
	harmless = names("TodoWrite TodoRead TaskCreate TaskGet TaskList TaskUpdate TaskOutput TaskStop BashOutput " +
		"KillShell KillBash ToolSearch " + VerdictTool)

	// named are tools whose rules name a value of the input, with the fields of that value.
	named = map[string][]string{
		"Agent": {"subagent_type"}, "Task": {"subagent_type"},
		"Skill": {"skill", "command"}, "SlashCommand": {"command"},
	}

	// others are further tools, listed only to recognise misspelled names.
	others = names("Bash WebFetch WebSearch AskUserQuestion EnterPlanMode ExitPlanMode Agent Task Skill " +
		"SlashCommand Workflow ScheduleWakeup CronCreate CronDelete CronList Monitor SendMessage ListAgents " +
		"EnterWorktree ExitWorktree PushNotification RemoteTrigger ListMcpResourcesTool ReadMcpResourceTool " +
		"PowerShell LSP ReportFindings")
)

// knownTools are all tools that a rule may name.
func knownTools() nameSet { return slices.Concat(readers, editors, harmless, others) }

// VerdictTool is the tool with which an agent ends its turn with a verdict. It does nothing else.
const VerdictTool = "StructuredOutput"

// MayWrite reports whether a tool, or what it starts, can change files of the workspace.
func MayWrite(tool string) bool {
	_, own := Own(tool)
	return !own && !readers.has(tool) && !harmless.has(tool) && tool != "WebFetch" && tool != "WebSearch"
}

// IsEditor reports whether a tool changes the one file that its input names.
func IsEditor(tool string) bool { return editors.has(tool) }

// IsReader reports whether a tool only reads files that its input names.
func IsReader(tool string) bool { return readers.has(tool) }

// Own reports whether a tool is one of Arbiter's own, and returns its name there.
func Own(tool string) (name string, ok bool) { return strings.CutPrefix(tool, "mcp__arbiter__") }

// StartsSubagent reports whether a tool starts subagents, under either of its names.
func StartsSubagent(tool string) bool { return tool == "Agent" || tool == "Task" }

// nameSet is a small set of names.
type nameSet []string

func (s nameSet) has(name string) bool { return slices.Contains(s, name) }

// names are the words of a text.
func names(text string) nameSet { return strings.Fields(text) }

// sameTool reports whether a rule for one tool also holds for another: Agent and Task are two names of one
// tool, Edit rules hold for all editors, Read rules for all readers, and Bash rules for Monitor.
func sameTool(rule, tool string) bool {
	return rule == tool || rule == "Edit" && editors.has(tool) || rule == "Read" && readers.has(tool) ||
		rule == "Bash" && tool == "Monitor" || StartsSubagent(rule) && StartsSubagent(tool)
}

package policy

import (
	"slices"
	"strings"
)

// Tools of Claude Code by what they do (names as of CLI 2.1.329, and older ones).
var (
	readers = nameSet{"Read", "Glob", "Grep", "LS", "NotebookRead"}
	editors = nameSet{"Edit", "Write", "MultiEdit", "NotebookEdit"}

	// harmless tools only affect the session itself; Claude's default mode does not ask about them either.
	harmless = nameSet{"TodoWrite", "TodoRead", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "TaskOutput",
		"TaskStop", "BashOutput", "KillShell", "KillBash", "ToolSearch", VerdictTool}

	// named are tools whose rules name a value of the input, with the fields of that value.
	named = map[string][]string{
		"Agent": {"subagent_type"}, "Task": {"subagent_type"},
		"Skill": {"skill", "command"}, "SlashCommand": {"command"},
	}

	// others are further tools, listed only to recognise misspelled names.
	others = nameSet{"Bash", "WebFetch", "WebSearch", "AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "Agent", "Task",
		"Skill", "SlashCommand", "Workflow", "ScheduleWakeup", "CronCreate", "CronDelete", "CronList", "Monitor",
		"SendMessage", "ListAgents", "EnterWorktree", "ExitWorktree", "PushNotification", "RemoteTrigger",
		"ListMcpResourcesTool", "ReadMcpResourceTool", "PowerShell", "LSP", "ReportFindings"}

	// known are all tools that a rule may name.
	known = []nameSet{readers, editors, harmless, others}
)

// VerdictTool is the tool with which an agent ends its turn with a verdict. It does nothing else.
const VerdictTool = "StructuredOutput"

// MayWrite reports whether a tool, or what it starts, can change files of the workspace.
func MayWrite(tool string) bool {
	_, own := Own(tool)
	return !own && !readers.has(tool) && !harmless.has(tool) && tool != "WebFetch" && tool != "WebSearch"
}

// Own reports whether a tool is one of Arbiter's own, and returns its name there.
func Own(tool string) (name string, ok bool) { return strings.CutPrefix(tool, "mcp__arbiter__") }

// leftToCLI are tools about which Claude Code itself asks, in its default mode, if they do more than read
// (observed with CLI 2.1.329). It runs some others without asking: EnterWorktree creates a branch and a
// directory.
var leftToCLI = nameSet{"Bash", "WebFetch", "WebSearch", "Skill", "SlashCommand"}

// machinery are names, in lower case, of files and directories that make other programs run things. No mode
// allows an edit there without asking, because that would turn the right to edit into the right to run.
var machinery = nameSet{".git", ".gitmodules", ".gitconfig", ".claude", ".claude.json", ".mcp.json", ".arbiter",
	".vscode", ".idea", ".husky", ".envrc", ".bashrc", ".bash_profile", ".profile", ".zshrc", ".zprofile", ".zshenv",
	".ssh"}

// nameSet is a small set of names. It is a list and not a map because the compiler lays a list out in the binary,
// while the program would build each map at every start.
type nameSet []string

func (s nameSet) has(name string) bool { return slices.Contains(s, name) }

// sameTool reports whether a rule for one tool also holds for another: Agent and Task are two names of one
// tool, Edit rules hold for all editors and Read rules for all readers.
func sameTool(rule, tool string) bool {
	switch {
	case rule == tool:
		return true
	case rule == "Edit":
		return editors.has(tool)
	case rule == "Read":
		return readers.has(tool)
	case StartsSubagent(rule):
		return StartsSubagent(tool)
	}
	return false
}

// knownTool reports whether a tool is known: Claude Code's, an MCP server's, or Arbiter's own. An unknown tool
// is only allowed by a rule that names it, or by a mode that allows everything.
func knownTool(tool string) bool {
	if rest, ok := strings.CutPrefix(tool, "mcp__"); ok {
		server, name, _ := strings.Cut(rest, "__")
		return server != "" && name != ""
	}
	return slices.ContainsFunc(known, func(tools nameSet) bool { return tools.has(tool) })
}

// AskedByCLI reports whether Claude Code itself asks about a tool, so that what no rule and no mode decides may
// be left to it.
func AskedByCLI(tool string) bool {
	return readers.has(tool) || editors.has(tool) || leftToCLI.has(tool) ||
		strings.HasPrefix(tool, "mcp__") && knownTool(tool)
}

// StartsSubagent reports whether a tool starts subagents, under either of its names.
func StartsSubagent(tool string) bool { return tool == "Agent" || tool == "Task" }

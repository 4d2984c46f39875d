package acp

import (
	"cmp"

	"github.com/arbiter-cli/arbiter/bridge"
)

// traits are what differs between makes, as far as it cannot be asked of them.
type traits struct {
	env []string // what it is started with, unless the configuration sets it
	// mode is set when a session begins, and kept: in others a model approves, or nothing is asked about. Empty: the
	// make has none, or env makes it ask.
	mode string
	// asks: it asks about each command and each edit, so that deny rules hold. A make that does not runs in a sandbox.
	asks bool
	// reads: it also asks about reading, so that deny rules about files to read hold, too.
	reads bool
	// toolMeta is a key under `_meta` of a tool call. Its toolName is the name of a tool of Claude Code, with the input of
	// that tool; or it is true, and the input has the server, the tool and the arguments of a call to an MCP server.
	toolMeta string
	// metaSystem: our system text goes into `_meta` of a new session. Otherwise it is in front of the first message.
	metaSystem bool
	// metaRules: so do the sources of settings, its tools, and deny and ask rules, which the make holds itself.
	metaRules bool
	// distrust is added to env where the workspace is not trusted: settings of a workspace can run programs.
	distrust []string
	// usage is what the usage at the end of a turn counts: usageTurn, usageProcess, or nothing of use.
	usage string
	// toolsFlag is the argument before the configuration of our MCP server, for a make that refuses it in the session.
	// Its requests leave out whose tool they are about: the call's first notice says it.
	toolsFlag string
	// forgets: it loses a session that it loads in the minute in which that began, so none is loaded.
	forgets bool
	// writes are the directories below the home directory that it writes to, for the sandbox.
	writes []string
}

// What the usage of an answer to a prompt counts.
const (
	usageTurn    = "turn"
	usageProcess = "process" // all turns since the process started
)

// table has the makes that were tried. A make that is not in it is trusted with nothing.
var table = map[string]traits{
	// Asked with this permission, it asks about everything, and what is inside of the directory is read without a
	// question to a human (permission.go). It needs no network for its own sake.
	"opencode": {
		env: []string{`OPENCODE_PERMISSION={"*":"ask","read":{"*":"ask"},"list":"ask","glob":"ask","grep":"ask",` +
			`"edit":"ask","bash":{"*":"ask"},"webfetch":"ask","task":"ask","arbiter_*":"allow","todowrite":"allow"}`,
			`OPENCODE_CONFIG_CONTENT={"experimental":{"continue_loop_on_deny":true}}`,
			"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1"},
		distrust: []string{"OPENCODE_DISABLE_PROJECT_CONFIG=1", "OPENCODE_DISABLE_CLAUDE_CODE=1",
			"OPENCODE_DISABLE_EXTERNAL_SKILLS=1"},
		asks: true, reads: true,
		writes: []string{".local/share/opencode", ".local/state/opencode", ".cache/opencode", ".config/opencode"},
	},
	// It begins in mode auto, in which a model approves, and hides tools of MCP servers behind a search.
	"claude-acp": {
		env: []string{"ENABLE_TOOL_SEARCH=false", "DISABLE_AUTOUPDATER=1"}, mode: "default", asks: true,
		toolMeta: "claudeCode", metaSystem: true, metaRules: true, usage: usageTurn,
		writes: []string{".claude"},
	},
	// It runs in a sandbox of its own what it does not ask about, and in its first mode a model approves.
	"codex": {
		env: []string{"INITIAL_AGENT_MODE=workspace-write"}, mode: "workspace-write", usage: usageTurn,
		toolMeta: "is_mcp_tool_call", writes: []string{".codex"},
	},
	// It does not ask about commands that it knows to change nothing. Without trust in the workspace it starts no MCP
	// server, and its launcher does not pass signals on.
	"gemini": {
		env: []string{"GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_CLI_NO_RELAUNCH=true"}, mode: "default",
		forgets: true, writes: []string{".gemini"},
	},
	// It asks, unless a setting of the user's allows everything, which no mode takes back.
	"copilot": {
		env:       []string{"COPILOT_AUTO_UPDATE=false"},
		mode:      "https://agentclientprotocol.com/protocol/session-modes#agent",
		toolsFlag: "--additional-mcp-config", usage: usageProcess,
		writes: []string{".copilot", ".cache/copilot"}, // it unpacks itself into the second
	},
}

func traitsOf(m *bridge.MakeSpec) traits { return table[cmp.Or(m.Like, m.Name)] }

// keepsOut reports whether settings of a workspace that is not trusted are kept away from it.
func (t traits) keepsOut() bool { return t.metaRules || t.distrust != nil }

// lacks says what an agent cannot do that a Claude CLI can, in words for people and for the Arbiter.
func (t traits) lacks(loads, trusted bool) []string {
	list := []string{
		"delivery is shown as written: it proves none",
		"a message waits until its turn has ended",
		"the reason of a denial does not reach its model",
		"no warning about its context in mid-turn, and no side questions",
		"allow rules do not count: each request is asked about",
	}
	if !t.asks {
		list = append(list, "it runs some calls without asking: deny rules do not hold for those, only the sandbox")
	} else if !t.reads && !t.metaRules {
		list = append(list, "it reads without asking: deny rules about reading do not hold, only the sandbox")
	}
	if !trusted && !t.keepsOut() {
		list = append(list, "it may load settings of this workspace, which is not trusted")
	}
	if !loads {
		list = append(list, "no resume: a session that ends is continued from the supervisor's record")
	}
	return list
}

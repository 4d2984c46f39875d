package supervisor

import "github.com/arbiter-cli/arbiter/bridge"

// Size of a terminal until somebody watches it.
const (
	TakeoverCols = 80
	TakeoverRows = 24
)

// TerminalConfig is the configuration of an agent's session for the human's terminal, derived from the agent's
// own. For a trusted workspace the CLI need not ask for trust again.
func TerminalConfig(c bridge.AgentConfig, trusted bool) bridge.AgentConfig {
	c.Resume, c.Partial, c.JSONSchema, c.MCPTools, c.Hooks = true, false, nil, nil, nil
	c.AppendSystemPrompt += inHumanHands
	if trusted {
		env := map[string]string{"CLAUDE_CODE_SANDBOXED": "1"} // observed with CLI 2.1.329
		for name, value := range c.Env {
			env[name] = value
		}
		c.Env = env
	}
	return c
}

const inHumanHands = "\n\nFor now the human has your session in a terminal and speaks to you directly, without " +
	"an envelope. Answer in plain words: no verdict is asked for, and the tools of mcp__arbiter are not at hand " +
	"until the session is given back."

// TakeoverTurnCutOff is sent to an agent whose turn a takeover has cut off.
const TakeoverTurnCutOff = "Your last turn under the supervisor was cut off when the human took your session over. " +
	"What you were doing then may or may not have happened, and the human may have done it, changed it or told you " +
	"otherwise since: look before you do it again. Then go on from where things stand now, and end the turn with your " +
	"verdict."

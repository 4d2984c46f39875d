package eventtext

import (
	"strings"

	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// takeover describes the state of a takeover, in a sentence about the agent whose session it is.
func takeover(t contract.Takeover, who string) string {
	text := who
	switch t.State {
	case "began":
		text += " is being handed over to you"
	case "open":
		text += " is in your hands"
	case "ended":
		text += " is given back"
		var did []string
		if t.Words > 0 {
			did = append(did, words.Count(t.Words, "word")+" of yours")
		}
		if n := len(t.Files); n > 0 {
			did = append(did, words.Count(n, "file")+" changed: "+One(strings.Join(t.Files[:min(n, 5)], ", "),
				MaxSummary)+After(", and ", more(n-5)))
		}
		text += After(" – ", strings.Join(did, ", "))
	case "failed":
		text += " could not be handed over"
	default:
		text += ": takeover " + One(t.State, MaxName)
	}
	return text + Parenthesis(One(t.Reason, MaxWords))
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return words.Number(n) + " more"
}

// halted reports that everything was stopped, and in which way that was requested.
func halted(h contract.Halted) string {
	text := "Everything is halted"
	switch h.By {
	case "", "screen", "stdin":
	case "socket":
		text += ", from another terminal"
	default:
		text += ", by " + One(h.By, MaxName)
	}
	return text + ". /continue wakes the agents."
}

// Safety describes the restrictions of a run's agents: what is allowed, what confines them, and whether
// files of the workspace are loaded. It is empty for a journal from before these were recorded.
func Safety(s contract.Session) []string {
	var list []string
	if s.Permissions != "" && s.Permissions != "allow-all" { // allow-all is shown as a risk instead
		list = append(list, "permissions: "+One(s.Permissions, MaxName))
	}
	if s.Sandbox == "" {
		return list
	}
	if s.Sandbox != "unsandboxed" {
		list = append(list, One(s.Sandbox, MaxName))
	} else if !unconfined(s) {
		list = append(list, "unsandboxed")
	}
	if s.Trusted {
		return append(list, "workspace trusted")
	}
	return append(list, "workspace not trusted")
}

// unconfined reports whether it is a danger that there is no sandbox.
func unconfined(s contract.Session) bool {
	return s.Sandbox == "unsandboxed" && (s.Permissions == "allow-all" || s.SandboxReason != "" &&
		!strings.HasPrefix(s.SandboxReason, "not asked for"))
}

// Category names a category of errors.
func Category(c string) string { return strings.ReplaceAll(One(c, MaxName), "_", " ") }

func Spent(b contract.Result) []string {
	parts := []string{Dollars(b.CostUSD) + Simulated(b.Rehearsal)}
	if t := millis(b.DurationMS); t != "" {
		parts = append(parts, t)
	}
	if in := b.Usage.Input + b.Usage.CacheRead + b.Usage.CacheCreation; in > 0 || b.Usage.Output > 0 {
		parts = append(parts, words.Tokens(in)+" tokens in", words.Tokens(b.Usage.Output)+" out")
	}
	parts = append(parts, words.Count(b.Iterations, "iteration"))
	if b.Crashes > 0 {
		if b.Crashes == 1 {
			parts = append(parts, "1 crash survived")
		} else {
			parts = append(parts, words.Number(b.Crashes)+" crashes survived")
		}
	}
	return parts
}

func Opening(s contract.Session) string {
	if s.Resumed {
		return "The thread continues."
	}
	return "The weaving begins."
}

// RiskWarnings are the risks that must always be visible.
func RiskWarnings(s contract.Session) []string {
	var list []string
	if s.Rehearsal {
		list = append(list, "rehearsal"+After(": ", One(s.Scenario, MaxName)))
	}
	if s.StandIn {
		list = append(list, "a stand-in, no real CLI")
	}
	if s.Permissions == "allow-all" {
		list = append(list, "everything is allowed")
	}
	if unconfined(s) {
		list = append(list, "unsandboxed"+After(": ", One(s.SandboxReason, MaxName)))
	}
	return list
}

// Worker returns the mode of a step and the agent that works on it, if they are set.
func Worker(s contract.Step, name func(string) string) string {
	mode := One(s.Mode, MaxName)
	if s.Agent == "" {
		return mode
	}
	return mode + After(map[bool]string{true: ", "}[mode != ""], Called(name, s.Agent))
}

// Tally describes the progress of an agent's own list, and its current task.
func Tally(t contract.Tasks) string {
	done, now := 0, ""
	for _, s := range t.Items {
		switch {
		case s.Status == contract.StepDone:
			done++
		case s.Status == contract.StepActive && now == "":
			now = One(s.Text, MaxSummary)
		}
	}
	return words.Number(done) + " of " + words.Number(len(t.Items)) + " done" + After("; now: ", now)
}

func CheckNumber(b contract.Check) string {
	text := "Check " + strconv.Itoa(b.Number) + " of " + strconv.Itoa(b.Of)
	if b.Again {
		text += ", once more before the end"
	}
	return text
}

// LastChange names who changed the files of a check last; empty: unknown.
func LastChange(b contract.Check, name func(string) string) string {
	if len(b.Agents) == 0 {
		return ""
	}
	names := make([]string, len(b.Agents))
	for i, id := range b.Agents {
		names[i] = Called(name, id)
	}
	return "Last to change its files: " + strings.Join(names, ", ")
}

// capital begins a sentence with a capital.
func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// Lower begins one of this package's sentences with a small letter.
func Lower(s string) string { return strings.ToLower(s[:1]) + s[1:] }

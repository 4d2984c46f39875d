package main

import (
	"encoding/json"
	"maps"
)

// The functions of this file make plays, the scripts of models. rehearsal/SCENARIOS.md says what their parts mean.
type object = map[string]any

// playOf is a play: the first actor whose match fits a conversation plays it.
func playOf(actors ...object) string { return allowing(nil, actors...) }

// allowing is a play whose tool calls need rules.
func allowing(rules []string, actors ...object) string {
	play := object{"name": "play", "title": "A play", "actors": actors}
	if rules != nil {
		play["allow"] = rules
	}
	raw, err := json.Marshal(play)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// actor plays its steps in order. What the next one does not expect, and what comes after the last, is answered by the
// first of the others that fits.
func actor(name string, match object, steps []object, otherwise ...object) object {
	a := object{"name": name, "match": match, "steps": append([]object{}, steps...)}
	if len(otherwise) > 0 {
		a["otherwise"] = otherwise
	}
	return a
}

func arbiter(steps []object, otherwise ...object) object {
	return actor("arbiter", object{"role": "arbiter"}, steps, otherwise...)
}

// orchestrator plays those whose brief contains a text.
func orchestrator(name, contains string, steps []object, otherwise ...object) object {
	match := object{"role": "orchestrator"}
	if contains != "" {
		match["contains"] = contains
	}
	return actor(name, match, steps, otherwise...)
}

// anybody plays who has no other actor, such as a person in a terminal.
func anybody(otherwise ...object) object {
	return actor("anybody", object{"role": "any"}, nil, otherwise...)
}

func subagent(steps ...object) object { return actor("subagent", object{"role": "subagent"}, steps) }

// with is a step with another part.
func with(step object, part string, value any) object {
	step = maps.Clone(step)
	step[part] = value
	return step
}

// on is a step that is played if what the model reads fits an expression.
func on(expect string, step object) object { return with(step, "expect", expect) }

func call(tool string, input object) object { return object{"tool": tool, "input": input} }

func uses(calls ...object) object { return object{"use": calls} }

func bash(command string) object {
	return uses(call("Bash", object{"command": command, "description": "Work"}))
}

func writes(file, text string) object {
	return uses(call("Write", object{"file_path": "{{.cwd}}/" + file, "content": text}))
}

// hires calls a subagent for each prompt.
func hires(prompts ...string) object {
	calls := []object{}
	for _, prompt := range prompts {
		calls = append(calls, call("Agent",
			object{"description": "Work", "subagent_type": "general-purpose", "prompt": prompt}))
	}
	return uses(calls...)
}

func says(text string) object { return object{"say": text} }

// summons are the steps of an Arbiter that spawns an Orchestrator for each prompt, and waits.
func summons(prompts ...string) []object { return []object{spawns(prompts...), patience} }

func spawns(prompts ...string) object {
	calls := []object{}
	for _, prompt := range prompts {
		calls = append(calls, call("mcp__arbiter__spawn_orchestrator", object{"prompt": prompt}))
	}
	return uses(calls...)
}

// releases lets all Orchestrators go.
var releases = uses(call("mcp__arbiter__release_orchestrator", object{"id": "all", "reason": "enough"}))

// rules is a decision of the Arbiter, with further fields by pairs.
func rules(decision, message string, fields ...string) object {
	verdict := object{"decision": decision, "message": message, "reason": "r"}
	for i := 0; i < len(fields); i += 2 {
		verdict[fields[i]] = fields[i+1]
	}
	return object{"verdict": verdict}
}

var patience = rules("CONTINUE", "Patience.")

func complete(summary string) object { return rules("COMPLETE", "It is done.", "summary", summary) }

func asksHuman(message string) object { return rules("ADDRESS_HUMAN", message) }

func tells(to, message string) object { return rules("ADDRESS_ORCHESTRATOR", message, "to", to) }

// selects has the Arbiter choose a mode for the next agent.
func selects(mode, message string) object { return rules("SELECT_MODE", message, "mode", mode) }

// reports is a verdict of an Orchestrator.
func reports(kind, message string, waits bool) object {
	return object{"verdict": object{"kind": kind, "message": message, "expects_response": waits}}
}

func question(message string) object { return reports("question", message, true) }

// handsOff is the end of a part of the work, with its checks.
func handsOff(kind, message string, remaining []string, checks ...object) object {
	step := reports(kind, message, true)
	step["verdict"].(object)["handoff"] = object{"accomplished": []string{"a part"},
		"remaining": append([]string{}, remaining...), "key_context": "none", "checks": append([]object{}, checks...)}
	return step
}

func done(message string, checks ...object) object { return handsOff("done", message, nil, checks...) }

func check(command, expect string) object { return object{"command": command, "expect": expect} }

// listing adds files to the document of a step.
func listing(step object, files ...string) object {
	step["verdict"].(object)["handoff"].(object)["files"] = files
	return step
}

func reads(file string) object { return uses(call("Read", object{"file_path": "{{.cwd}}/" + file})) }

func edits(file, old, text string) object {
	return uses(call("Edit", object{"file_path": "{{.cwd}}/" + file, "old_string": old, "new_string": text}))
}

// proven is a document whose claim is proved by its check.
func proven(step object, claim string) object {
	step["verdict"].(object)["handoff"].(object)["claims"] = []object{{"claim": claim, "verified": true, "check": 1}}
	return step
}

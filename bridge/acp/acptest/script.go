// Package acptest is for tests: a fake agent that speaks the Agent Client Protocol and misbehaves on command, and a
// scripted model on loopback for real agents. Both do what a prompt says in double brackets:
//
//	[[say TEXT]] [[mode MODE]] [[shell COMMAND]] [[write PATH|TEXT]] [[read PATH]] [[tool NAME|JSON]]
//	[[verdict JSON]] [[fail TEXT]]
//
// A prompt of Arbiter that says nothing ends with the verdict `done`.
package acptest

import (
	"regexp"
	"strings"
)

// Done is the verdict of a prompt that names none.
const Done = `{"expects_response":true,"kind":"done","message":"It is done.",` +
	`"handoff":{"accomplished":["all"],"remaining":[],"key_context":"nothing"}}`

// op is one thing to do.
type op struct{ verb, arg string }

func (o op) two() (first, second string) {
	first, second, _ = strings.Cut(o.arg, "|")
	return first, second
}

var written = regexp.MustCompile(`(?s)\[\[(\w+) ?(.*?)\]\]`)

// opsOf reads the script of a prompt. What follows the last one is the verdict, unless the script fails or gives one.
func opsOf(prompt string) (ops []op) {
	for _, m := range written.FindAllStringSubmatch(prompt, -1) {
		ops = append(ops, op{m[1], m[2]})
	}
	if n := len(ops); n > 0 && (ops[n-1].verb == "fail" || ops[n-1].verb == "silent") {
		return ops
	}
	for _, o := range ops {
		if o.verb == "verdict" {
			return ops
		}
	}
	return append(ops, op{"verdict", Done})
}

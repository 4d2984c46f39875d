package rehearsal_test

import (
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
)

// The texts in histories that were cut off, as CLI 2.1.329 writes them.
const (
	unknownOutcome = "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome " +
		"is unknown. It may have run.]"
	stoppedRunning = "The user doesn't want to proceed with this tool use. To be exact: this call was stopped while " +
		"running."
	streamClosed = "Tool permission stream closed before response received"
	ended        = "⟦k7f2 | from: supervisor (the supervisor) | kind: retry | id: 1⟧\nYour process ended in the " +
		"middle of your last turn, and was started again.\n⟦k7f2 | end⟧"
	report = "⟦k7f2 | from: orch-1 (Orchestrator I) | kind: done | id: 2⟧\nIt is written.\n⟦k7f2 | end⟧"
)

func user(words ...any) frame {
	blocks := []frame{}
	for _, w := range words {
		switch w := w.(type) {
		case string:
			blocks = append(blocks, frame{"type": "text", "text": w})
		case frame:
			blocks = append(blocks, w)
		}
	}
	return frame{"role": "user", "content": blocks}
}

func model(words ...any) frame {
	f := user(words...)
	f["role"] = "assistant"
	return f
}

func called(id, tool string) frame {
	return frame{"type": "tool_use", "id": id, "name": tool, "input": frame{}}
}

func result(id, text string) frame {
	return frame{"type": "tool_result", "tool_use_id": id, "content": text}
}

func failed(id, text string) frame {
	return frame{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": true}
}

var lost = model("No response requested.")

// takenUp is a script whose answers name their step, and histories of it after a crash: each test sends the
// next message to a server that has not seen the session before.
const takenUp = `
actors:
  - name: a
    steps:
      - {expect: the task, say: first, use: [{tool: Plan, input: {}}, {tool: Spawn, input: {}}]}
      - {expect: "(?P<id>orch-\\d+)", say: "second, {{.id}}", verdict: {}}
      - {expect: It is written, say: third, use: [{tool: Read, input: {}}]}
      - {expect: a line, say: fourth, verdict: {}}
    otherwise:
      - {expect: thrice, say: thrice}
      - {say: otherwise}
`

func TestTakenUp(t *testing.T) {
	first := model("first", called("t1", "Plan"), called("t2", "Spawn"))
	done := user(result("t1", "planned"), result("t2", "orch-1 is summoned"))
	second := model("second, orch-1", called("t3", "StructuredOutput"))
	third := model("third", called("t4", "Read"))
	answered := user(result("t3", "Structured output provided successfully"), report)
	for _, tt := range []struct {
		name    string
		history []frame
		want    string
	}{
		{"nothing was answered", []frame{user("the task"), lost, user(ended)}, "first"},
		{"nothing was answered, twice", []frame{user("the task"), lost, user(ended), lost, user(ended)}, "first"},
		{"the answer was cut before its calls", []frame{user("the task"), model("first"), user(ended)}, "first"},
		{"between its calls",
			[]frame{user("the task"), model("first", called("t1", "Plan")), user(result("t1", "planned"), ended)},
			"first"},
		{"no outcome is known",
			[]frame{user("the task"), first, user(failed("t1", unknownOutcome), failed("t2", unknownOutcome)), lost,
				user(ended)}, "first"},
		{"one outcome is unknown",
			[]frame{user("the task"), first, user(result("t1", "planned"), failed("t2", unknownOutcome)), lost,
				user(ended)}, "first"},
		{"one outcome is unknown, and no word of it",
			[]frame{user("the task"), first, user(result("t1", "planned"), failed("t2", unknownOutcome), report)},
			"first"},
		{"interrupted by the end",
			[]frame{user("the task"), first,
				user(result("t1", "planned"), failed("t2", stoppedRunning),
					"[Request interrupted by user for tool use]"), lost, user(ended)}, "first"},
		{"interrupted on purpose",
			[]frame{user("the task"), first,
				user(result("t1", "planned"), failed("t2", stoppedRunning),
					"[Request interrupted by user for tool use]", "do it thrice")}, "thrice"},
		{"played again",
			[]frame{user("the task"), first, user(failed("t1", unknownOutcome), failed("t2", unknownOutcome)), lost,
				user(ended), model("first", called("t5", "Plan"), called("t6", "Spawn")),
				user(result("t5", "planned"), result("t6", "orch-2 is summoned"))}, "second, orch-2"},
		{"results without an answer", []frame{user("the task"), first, done, lost, user(ended)}, "second, orch-1"},
		{"results, and the answer was interrupted by the end",
			[]frame{user("the task"), first, done, user("[Request interrupted by user]"), lost, user(ended)},
			"second, orch-1"},
		{"the verdict is unknown", []frame{user("the task"), first, done, second, user(failed("t3", unknownOutcome)),
			lost, user(ended)}, "second, orch-1"},
		{"answered after a call that the ending process failed",
			[]frame{user("the task"), first, user(result("t1", "planned"), failed("t2", streamClosed)), second,
				user(failed("t3", unknownOutcome)), lost, user(ended)}, "first"},
		{"the verdict is unknown, a call beside it is not",
			[]frame{user("the task"), first, done,
				model("second, orch-1", called("t9", "Read"), called("t3", "StructuredOutput")),
				user(result("t9", "read"), failed("t3", unknownOutcome)), lost, user(ended)}, "second, orch-1"},
		{"the verdict was answered, its result was not kept",
			[]frame{user("the task"), first, done, second, user(failed("t3", unknownOutcome)), lost, user(report)},
			"third"},
		{"the turn had ended",
			[]frame{user("the task"), first, done, second,
				user(result("t3", "Structured output provided successfully"), ended)}, "second, orch-1"},
		{"an unanswered message", []frame{user("the task"), first, done, second, answered, lost, user(ended)}, "third"},
		{"an unanswered message, and a correction",
			[]frame{user("the task"), first, done, second, answered, lost, user("thrice")}, "third"},
		{"another tool's outcome",
			[]frame{user("the task"), first, done, second, answered, third, user(failed("t4", unknownOutcome)), lost,
				user(ended)}, "third"},
		{"another tool's result",
			[]frame{user("the task"), first, done, second, answered, third, user(result("t4", "a line"), ended)},
			"fourth"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := converse(t, play(t, takenUp, rehearsal.Options{}), "s", "Read", "StructuredOutput")
			c.messages = tt.history[:len(tt.history)-1]
			testkit.Same(t, "", tt.want, c.askText(tt.history[len(tt.history)-1]["content"]))
			noProblems(t, c.srv)
		})
	}
}

// A server that has seen the session also uses the history to determine how far it got.
func TestTakenUpLive(t *testing.T) {
	id := func(a answer, i int) string { return a.Content[i].str("id") }
	for _, tt := range []struct {
		name string
		cut  func(before []frame, first, second answer) []frame
		want string
	}{
		{"both answers lost", func(before []frame, _, _ answer) []frame {
			return append(before[:1:1], lost, user(ended))
		}, "first"},
		{"the second lost", func(before []frame, _, _ answer) []frame {
			return append(before[:3:3], lost, user(ended))
		}, "second, orch-1"},
		{"the first begun", func(before []frame, first, _ answer) []frame {
			return append(before[:1:1], model("first", called(id(first, 1), "Plan")),
				user(result(id(first, 1), "planned"), ended))
		}, "first"},
		{"the first unknown", func(before []frame, first, _ answer) []frame {
			return append(before[:2:2], user(result(id(first, 1), "planned"), failed(id(first, 2), unknownOutcome)),
				lost, user(ended))
		}, "first"},
		{"the second answered", func(before []frame, _, second answer) []frame {
			return append(before[:4:4], user(failed(id(second, 1), unknownOutcome)), lost, user(report))
		}, "third"},
		{"the second unheard", func(before []frame, _, second answer) []frame {
			return append(before[:4:4], user(failed(id(second, 1), unknownOutcome)), lost, user(ended))
		}, "second, orch-1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := converse(t, play(t, takenUp, rehearsal.Options{}), "s", "Read", "StructuredOutput")
			first := c.ask("the task")
			second := c.ask([]frame{result(id(first, 1), "planned"), result(id(first, 2), "orch-1 is summoned")})
			cut := tt.cut(c.messages, first, second)
			c.messages = cut[:len(cut)-1]
			testkit.Same(t, "", tt.want, c.askText(cut[len(cut)-1]["content"]))
			noProblems(t, c.srv)
		})
	}
}

// An answer that was cut deliberately is used up, whether a part of it was kept or not, also for a server
// that sees the session later.
func TestCutOnPurpose(t *testing.T) {
	const script = `
actors:
  - name: a
    steps: [{say: first}, {say: second and last}, {say: third}]
`
	for name, history := range map[string][]frame{
		"nothing kept": {user("x"), model("first"), user("y", "[Request interrupted by user]", "z")},
		"in part": {user("x"), model("first"), user("y"), model("second"),
			user("[Request interrupted by user]", "z")},
	} {
		t.Run(name, func(t *testing.T) {
			c := converse(t, play(t, script, rehearsal.Options{}), "s", "Bash")
			c.messages = history[:len(history)-1]
			testkit.Same(t, "", "third", c.askText(history[len(history)-1]["content"]))
			noProblems(t, c.srv)
		})
	}
}

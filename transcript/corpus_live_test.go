package transcript_test

import (
	"context"
	"os"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/transcript"
)

// A session that talks, works, has a subagent work, is interrupted, is killed in a tool and is resumed: the
// transcript agrees with the CLI at every step.
func TestLiveWork(t *testing.T) {
	l := rehearse(t, `
actors:
  - name: worker
    match: {role: main}
    steps:
      - say: I am here.
        usage: {context: 40000}
      - say: I write.
        use:
          - {tool: Write, input: {file_path: "{{.cwd}}/one.txt", content: "one\n"}}
        usage: {context: 50000}
      - use:
          - {tool: Bash, input: {command: "cat one.txt", description: look}}
          - {tool: Bash, input: {command: "exit 3", description: fail}}
        usage: {context: 60000}
      - use: [{tool: Agent, input: {description: second, prompt: "write the second", subagent_type: general-purpose}}]
        usage: {context: 62000}
      - say: Both are written.
        usage: {context: 64000}
      - use: [{tool: Bash, input: {command: "echo $$ > up; for i in $(seq 600); do sleep 0.1; done", description: wait}}]
        usage: {context: 70000}
      - say: It was stopped.
        usage: {context: 72000}
      - use: [{tool: Bash, input: {command: "test -e again || { echo $$ > again; for i in $(seq 600); do sleep 0.1; done; }", description: wait}}]
        usage: {context: 75000}
      - say: I am back.
        usage: {context: 80000}
  - name: sub
    match: {role: subagent, contains: write the second}
    steps:
      - use: [{tool: Write, input: {file_path: "{{.cwd}}/two.txt", content: "two\n"}}]
        usage: {context: 700000}
      - use: [{tool: Bash, input: {command: "cat two.txt", description: look}}]
        usage: {context: 800000}
      - say: It is written.
        usage: {context: 900000}
`)
	l.start()
	l.sendAndWait("speak")
	l.agrees("after a text")
	l.sendAndWait("work")
	l.agrees("after tools and a subagent")
	l.post("wait")
	l.until("a tool", func(f frame) bool { return f.str("type") == "assistant" })
	l.waitFor("up", "echo $$ > up")
	l.agrees("in a tool")
	l.control("interrupt", nil)
	l.until("the end of the interrupted turn", func(f frame) bool { return f.str("type") == "result" })
	l.follows("after an interrupt")
	l.sendAndWait("go on")
	l.post("wait again")
	left := l.waitFor("again", "test -e again")
	l.agrees("in a tool again")
	l.kill()
	if p, err := os.FindProcess(left); err != nil || p.Kill() != nil {
		t.Errorf("a killed CLI leaves its tools behind, and pid %d is not there", left)
	}
	l.start("--resume", l.session())
	l.follows("right after a resume")
	l.sendAndWait("are you back?")
	l.agrees("after a resumed turn")
	l.stop()

	got := testkit.Must(transcript.ReadDigest(context.Background(), l.path(), transcript.DigestLimits{}))(t)
	for i := range got.Commands {
		got.Commands[i].Timestamp = ""
	}
	again := "test -e again || { echo $$ > again; for i in $(seq 600); do sleep 0.1; done; }"
	want := transcript.Digest{
		Texts: []string{"I am here.", "I write.", "Both are written.", "It was stopped.", "I am back."},
		Files: []string{l.cwd + "/one.txt", l.cwd + "/two.txt"},
		Commands: []transcript.Command{
			{Command: "cat one.txt", Outcome: transcript.OutcomeDone},
			{Command: "exit 3", Outcome: transcript.OutcomeFailed},
			{Command: "cat two.txt", Outcome: transcript.OutcomeDone, Subagent: true},
			{Command: "echo $$ > up; for i in $(seq 600); do sleep 0.1; done", Outcome: transcript.OutcomeFailed},
			{Command: again, Outcome: transcript.OutcomeUnknown},
			{Command: again, Outcome: transcript.OutcomeDone},
		},
	}
	testkit.Same(t, "digest", want, got)
	l.record("work")
}

// A context that is compacted in mid-turn, and by a command.
func TestLiveCompaction(t *testing.T) {
	l := rehearse(t, `
actors:
  - name: worker
    match: {role: main}
    steps:
      - say: I am here.
        usage: {context: 60000}
      - use: [{tool: Bash, input: {command: "echo one", description: one}}]
        usage: {context: 180000}
      - say: It was compacted.
        usage: {context: 30000}
      - say: It was compacted by command.
        usage: {context: 31000}
`)
	l.start("--autocompact", "200000")
	l.sendAndWait("speak")
	l.agrees("before")
	l.sendAndWait("work")
	l.agrees("after a compaction in mid-turn")
	l.sendAndWait("/compact")
	newest, err := transcript.ReadNewest(l.path())
	if err != nil || newest.Found || !newest.Compacted {
		t.Errorf("right after a compaction: %+v, %v", newest, err)
	}
	l.sendAndWait("go on")
	l.agrees("after a compaction by command")
	l.stop()
	l.record("compaction")
}

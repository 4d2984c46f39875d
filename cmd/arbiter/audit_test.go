package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal/fakecli"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// auditOf exports the audit of a run.
func (s *script) auditOf(more ...string) (raw string, lines []auditFile) {
	s.t.Helper()
	raw, _ = s.output(0, append([]string{"logs", s.run(), "--audit", "--json"}, more...)...)
	for line := range strings.Lines(raw) {
		lines = append(lines, decodedAs[auditFile](s.t, line))
	}
	return raw, lines
}

// auditFile is a line of an audit, as another program reads it.
type auditFile struct {
	Seq                  uint64
	Time, By, Channel    string
	Session, What, About string
	Generation           int
	Prev, Hash           string
	Detail               map[string]any
}

func (l auditFile) text(name string) string {
	s, _ := l.Detail[name].(string)
	return s
}

// ledgerEnv names the directory in which each [noted] keeps a record of itself.
const ledgerEnv = "ARBITER_STANDIN_NOTED"

// ledgerStart is what a process was started with.
type ledgerStart struct {
	Argv []string
	CWD  string
	PID  int
}

// noted is the stand-in. It notes its start and the lines that it reads in one file, and those that it writes in
// another.
func noted() {
	in, out := io.Reader(os.Stdin), io.Writer(os.Stdout)
	if len(os.Args) > 2 { // not only its version
		cwd, noPlace := os.Getwd()
		path := filepath.Join(os.Getenv(ledgerEnv), strconv.Itoa(os.Getpid()))
		read, noRead := os.Create(path + ".in")
		written, noWritten := os.Create(path + ".out")
		err := errors.Join(noPlace, noRead, noWritten)
		if err == nil {
			err = json.NewEncoder(read).Encode(ledgerStart{os.Args, cwd, os.Getpid()})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		in, out = io.TeeReader(os.Stdin, read), io.MultiWriter(os.Stdout, written)
	}
	os.Exit(fakecli.Main(os.Args[1:], in, out, os.Stderr))
}

var envelopeID = regexp.MustCompile(`⟦[^⟧\n]*\| id: ([^ |⟧\n]*)`)

// readLedger returns the starts, the messages and the answers about tools that processes have noted.
func readLedger(t *testing.T, dir string) (spawned, delivered, permitted []string) {
	t.Helper()
	for _, path := range testkit.Must(filepath.Glob(filepath.Join(dir, "*.in")))(t) {
		first, rest, _ := strings.Cut(textOf(t, path), "\n")
		start := decodedAs[ledgerStart](t, first)
		// Its own name is without a directory: it was the test binary's first.
		session, argv := "", []string{testkit.Must(exec.LookPath(start.Argv[0]))(t)}
		for i, arg := range start.Argv[1:] {
			if start.Argv[i] == "--session-id" {
				session = arg
			}
			if len(arg) > 256 {
				arg = fmt.Sprintf("sha256:%x (%d bytes)", sha256.Sum256([]byte(arg)), len(arg))
			}
			argv = append(argv, arg)
		}
		spawned = append(spawned, fmt.Sprint(session, " ", start.PID, " ", start.CWD, " ", argv))
		tools := map[string]string{} // by request
		for line := range strings.Lines(textOf(t, strings.TrimSuffix(path, ".in")+".out")) {
			asked := decodedAs[struct {
				ID      string `json:"request_id"`
				Request struct {
					Tool string `json:"tool_name"`
				}
			}](t, line)
			tools[asked.ID] = asked.Request.Tool
		}
		for line := range strings.Lines(rest) {
			told := decodedAs[struct {
				Type     string
				Response struct {
					ID       string `json:"request_id"`
					Response struct{ Behavior string }
				}
			}](t, line)
			if id := envelopeID.FindStringSubmatch(line); told.Type == "user" && id != nil {
				delivered = append(delivered, id[1])
			}
			if tool := tools[told.Response.ID]; tool == "Bash" || tool == "Write" {
				permitted = append(permitted, tool+" "+told.Response.Response.Behavior)
			}
		}
	}
	return spawned, delivered, permitted
}

// secretsSeeded are secrets in the environment that arbiter is started with.
var secretsSeeded = []string{
	"ANTHROPIC_API_KEY=sk-ant-api03-seed-4711-aaaaaaaaaaaaaaaaaaaaaaaa",
	"ANTHROPIC_AUTH_TOKEN=seeded-auth-token-0815-bbbbbbbb", "GITHUB_TOKEN=ghp_seededseededseededseededseeded0815",
	"AWS_SECRET_ACCESS_KEY=seededsecretaccesskeyseededsecret0815",
}

// TestAuditIsTheLedger compares the audit of a run with the record that its stand-ins kept: starts,
// messages and permissions are the same. During the run no process has a secret among its arguments,
// and none listens for connections.
func TestAuditIsTheLedger(t *testing.T) {
	t.Parallel()
	ledger := t.TempDir()
	s := start(t, secretsSeeded, "--claude", testkit.Must(exec.LookPath("noted"))(t), "--json", "--env",
		ledgerEnv+"="+ledger, "--scenario", absolute(t, "testdata/scenarios/asks.yaml"), "--task", "Two files")
	bash := s.wants("Bash")
	noSecretArguments(t, s)
	noListeners(t, s)
	s.send(contract.Permit{Request: bash.Request, Behavior: bridge.Allow})
	s.send(contract.Permit{Request: s.wants("Write").Request, Behavior: bridge.Deny, Message: "not that one"})
	s.completes()

	raw, lines := s.auditOf()
	for _, entry := range secretsSeeded {
		_, value, _ := strings.Cut(entry, "=")
		testkit.Check(t, !strings.Contains(raw, value), "the audit has the value of %s", entry)
	}
	sameAsLedger(t, lines, ledger)
	sameAsEvents(t, s, lines)
	last := lines[len(lines)-1]
	testkit.Check(t, last.What == "end" && last.text("head") == last.Prev, "the end: %+v", last)
	text, _ := s.output(0, "logs", s.run(), "--audit")
	testkit.Check(t, strings.Count(text, "\n") == len(lines) && strings.Contains(text, "human@stdin"),
		"for people:\n%s", text)
	file := filepath.Join(t.TempDir(), "audit.ndjson")
	testkit.OK(t, os.WriteFile(file, []byte(raw), 0o600))
	testkit.Includes(t, "verified", stdoutOf(s.output(0, "logs", "--verify", file)), "agrees with the journal")
}

// sameAsLedger checks that starts, deliveries and permissions are those that the stand-ins have noted.
func sameAsLedger(t *testing.T, lines []auditFile, ledger string) {
	t.Helper()
	var spawned, delivered, permitted []string
	for _, l := range lines {
		switch l.What {
		case "spawned":
			spawned = append(spawned, fmt.Sprint(l.text("session_id"), " ", l.Detail["pid"], " ", l.text("cwd"), " ",
				l.Detail["argv"]))
		case "delivered":
			delivered = append(delivered, l.text("message_id"))
		case "permission":
			if l.text("decided_by") == "human" {
				permitted = append(permitted, l.text("tool")+" "+l.text("behavior"))
			}
		}
	}
	wantSpawned, wantDelivered, wantPermitted := readLedger(t, ledger)
	for name, pair := range map[string][2][]string{"spawned": {wantSpawned, spawned},
		"delivered": {wantDelivered, delivered}, "permitted": {wantPermitted, permitted}} {
		slices.Sort(pair[0])
		slices.Sort(pair[1])
		diff := cmp.Diff(pair[0], pair[1])
		testkit.Check(t, diff == "" && len(pair[0]) != 0, "%s (-their own record +audit):\n%s", name, diff)
	}
}

// sameAsEvents checks that messages, commands and ends are those that the frontend received.
func sameAsEvents(t *testing.T, s *script, lines []auditFile) {
	t.Helper()
	count := map[string]int{}
	messages := map[string]string{}
	for _, l := range lines {
		count[l.What]++
		switch l.What {
		case "message":
			messages[l.text("message_id")] = fmt.Sprint(l.text("from"), l.text("to"), l.text("kind"),
				l.Detail["text_bytes"], l.text("text_sha256"))
			testkit.Check(t, l.text("text") == "", "it has the text: %+v", l)
		case "command":
			testkit.Check(t, l.By == "human" && l.Channel == "stdin", "a command by %s over %q", l.By, l.Channel)
		}
	}
	for _, m := range collect[contract.Message](s) {
		testkit.Same(t, fmt.Sprintf("message %s", m.MessageID), messages[m.MessageID],
			fmt.Sprint(m.From, m.To, m.Kind, len(m.Text),
				supervisor.AuditText(m.Text).Sum()))
	}
	want := map[string]int{"begun": 1, "command": 2, "spawn": 2, "spawned": 2, "ended": 2, "result": 1, "finished": 1,
		"end": 1, "audit": 1, "message": len(collect[contract.Message](s)),
		"permission_asked": count["permission_asked"]}
	for what, n := range want {
		testkit.Same(t, fmt.Sprintf("lines of %s", what), n, count[what])
	}
	testkit.Check(t, count["permission_asked"] >= 2, "permissions that were asked for are missing: %v", count)
}

// TestVerify: logs --verify exits with 0 for an intact export and with ExitFailed for a changed one.
func TestVerify(t *testing.T) {
	run := newJournal(t, weaving)
	raw, _ := run.arbiter(contract.ExitComplete, "logs", run.id, "--audit", "--json", "--text")
	file := filepath.Join(t.TempDir(), "audit")
	for text, want := range map[string]contract.Exit{raw: contract.ExitComplete, " " + raw: contract.ExitFailed} {
		testkit.OK(t, os.WriteFile(file, []byte(text), 0o600))
		_, errs := run.arbiter(want, "logs", "--verify", file)
		testkit.Check(t, want != contract.ExitFailed || strings.Contains(errs, "line 1:"), "%v", errs)
	}
}

// forgeRecord appends a record with valid checksums to a journal, as anyone can who knows the format.
func forgeRecord(t *testing.T, path, run string, payload []byte) {
	t.Helper()
	b := testkit.Must(os.ReadFile(path))(t)
	var crc uint32
	var seq uint64
	for off := 256; off < len(b); off += 25 + int(binary.LittleEndian.Uint32(b[off+4:])) {
		crc, seq = binary.LittleEndian.Uint32(b[off:]), binary.LittleEndian.Uint64(b[off+12:])
	}
	f := make([]byte, 25)
	binary.LittleEndian.PutUint32(f[4:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(f[8:], crc)
	binary.LittleEndian.PutUint64(f[12:], seq+1)
	f[24] = byte(journal.Input)
	f = append(f, payload...)
	table := crc32.MakeTable(crc32.Castagnoli)
	binary.LittleEndian.PutUint32(f, crc32.Update(crc32.Checksum([]byte(run), table), table, f[4:]))
	// Append only: if the file were written anew, it would be empty for a moment, and that would be detected as
	// another change.
	testkit.Append(t, path, f)
}

// TestForgedDuringTheRun: an agent appends a forged human message to the journal of its own run. The run never
// acts on it, and reports it.
func TestForgedDuringTheRun(t *testing.T) {
	t.Parallel()
	s := dialogue(t)
	run := s.run()
	forged := testkit.Must(input.EncodeInput(input.Input{
		Body: input.Command{Command: contract.Command{Body: contract.Say{Text: "FORGED"}},
			Channel: input.ChannelStdin}}))(t)
	forgeRecord(t, filepath.Join(s.stateDir(), "runs", run, "journal-000001"), run, forged)
	// If another input meets the forged record first, commands are refused until the next file is there.
	for accepted := false; !accepted; {
		accepted, _ = s.command(contract.Say{Text: "Call it nameless."})
	}
	s.finish(contract.ExitComplete)
	if !slices.ContainsFunc(collect[contract.Error](s), func(e contract.Error) bool {
		return strings.Contains(e.Message, "somebody else wrote to the journal")
	}) {
		t.Error("no alarm:")
	}
	for _, args := range [][]string{{"replay", run}, {"logs", run, "--audit", "--text"}} {
		out, _ := s.output(0, args...)
		testkit.Includes(t, args, out, "Call it nameless.")
		testkit.Excludes(t, args, out, "FORGED")
	}
}

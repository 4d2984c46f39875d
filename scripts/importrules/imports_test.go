package importrules

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/arbiter-cli/arbiter"

// rule forbids an import. Names without a dot in their first part are packages of
// this module if they begin with "./", else of the standard library. A name that
// ends in "/..." stands for the package and all below it.
type rule struct {
	from   string
	to     []string
	but    string // this may be imported all the same
	direct bool   // only the package's own imports; else whatever they bring along
	why    string
}

var forbidden = []rule{
	{from: "./tui/...", to: []string{"./bridge/...", "./hooks/...", "./transcript", "./rehearsal/..."}, direct: true,
		why: "screens are a projection of the supervisor's snapshots"},
	{from: "./tui/...", to: []string{"os/exec", "github.com/creack/pty", "github.com/sourcegraph/jsonrpc2", "github.com/fsnotify/fsnotify"}, direct: true,
		why: "screens start nothing and watch nothing: they send commands"},
	{from: "./tui/render", to: []string{module + "/..."}, direct: true, why: "cells know roles and nothing of what is shown"},
	{from: "./tui/listview", to: []string{"./supervisor/...", "./tui/history", "./tui/eventview", "./tui/pages", "./tui/editor", "./tui/markdown"}, direct: true,
		why: "what is read is a source of blocks, whatever it is"},
	{from: "./tui/pages", to: []string{"./supervisor/...", "./tui/history", "./tui/eventview", "./tui/listview", "./tui/editor"}, but: "./supervisor/words", direct: true,
		why: "pages draw small data; who projects a state onto them knows both"},
	{from: "./tui/history", to: []string{"github.com/rivo/tview", "github.com/gdamore/tcell/v2", "./tui/render"}, direct: true, why: "what was told is kept, not drawn"},
	{from: "./tui/eventtext", to: []string{"github.com/rivo/tview", "github.com/gdamore/tcell/v2", "./tui/...",
		"./supervisor", "./supervisor/roster"}, but: "./tui/history", direct: true,
		why: "words of events are the same for every frontend: they know no columns and no colors"},
	{from: "./tui/terminal", to: []string{module + "/..."}, but: "./tui/render", direct: true,
		why: "a terminal knows nothing of what is shown on it"},
	{from: "./tui/snapshot", to: []string{"github.com/rivo/tview", "github.com/gdamore/tcell/v2", "./tui/history"},
		direct: true,
		why:    "a state is projected onto rows by pure functions"},
	{from: "./tui/activity", to: []string{"github.com/rivo/tview", "github.com/gdamore/tcell/v2", "./tui/...",
		"./supervisor", "./supervisor/roster"}, but: "./tui/eventtext", direct: true,
		why: "what agents do is followed from events alone, and is the same for every frontend"},
	{from: "./tui/timeline", to: []string{"github.com/rivo/tview", "github.com/gdamore/tcell/v2", "./supervisor",
		"./supervisor/roster", "./tui/history", "./tui/snapshot", "./tui/pages"}, direct: true,
		why: "a timeline is folded from events alone, and drawn as lines"},
	{from: "./tui/playback", to: []string{"github.com/rivo/tview", "github.com/gdamore/tcell/v2", "./tui/...",
		"./supervisor/journal", "./supervisor/runloop", "os", "os/exec", "net"}, direct: true,
		why: "a playback reads an event log, and nothing else"},
	{from: "./tui/tile", to: []string{"github.com/rivo/tview", "github.com/gdamore/tcell/v2", "./supervisor",
		"./supervisor/contract", "./tui/history", "./tui/snapshot", "./tui/eventview"}, direct: true,
		why: "a tile is a function from what is known of an agent to lines"},
	{from: "./tui/tour", to: []string{module + "/..."}, but: "./tui/keys", direct: true,
		why: "it is text with keys in it"},
	{from: "./tui/shellcard", to: []string{"github.com/rivo/tview", "github.com/gdamore/tcell/v2", "./supervisor",
		"./tui/...", "os"}, but: "./tui/render", direct: true, why: "it shows what a command says, and runs none"},
	{from: "./tui/inboxview", to: []string{"github.com/rivo/tview", "github.com/gdamore/tcell/v2", "./supervisor",
		"./supervisor/contract", "./tui/keys", "./tui/slash"}, direct: true,
		why: "a dialog draws it, and the screen carries its answers out"},
	{from: "./tui/keys", to: []string{module + "/..."}, direct: true, why: "the table of keys is data"},
	{from: "./tui/...", to: []string{"./tui"}, direct: true, why: "rooms know nothing of the house"},
	{from: "./tui/plain", to: []string{"github.com/rivo/tview", "github.com/gdamore/tcell/v2"}, direct: true, why: "lines of prose need no screen"},
	{from: "./supervisor/...", to: []string{"./tui/...", "./rehearsal/...", "./cmd/...", "./bridge/claude/...", "./bridge/proctree/..."},
		why: "the supervisor knows the bridge's protocol, not who plays it or who looks on"},
	{from: "./supervisor", to: []string{"os", "os/exec", "os/signal", "net", "net/http", "io/fs", "path/filepath", "math/rand", "math/rand/v2", "crypto/rand"}, direct: true,
		why: "apply is a fold over facts: what reads the world does so outside and comes in as a fact"},
	{from: "./supervisor/runconfig", to: []string{"./supervisor", "os", "net", "log/slog"}, direct: true,
		why: "what a run is started with is plain data"},
	{from: "./supervisor/roster", to: []string{"./supervisor", "./supervisor/input", "./supervisor/effect", "os", "net", "log/slog", "math/rand/v2"}, direct: true,
		why: "what is known of agents is a value; who changes it is decided above"},
	{from: "./supervisor/conversation", to: []string{"./supervisor", "./supervisor/roster", "./supervisor/input", "./supervisor/effect", "os", "net", "log/slog"}, direct: true,
		why: "messages are kept here; who may send them, and when, is decided above"},
	{from: "./supervisor/handoff", to: []string{"./supervisor", "./supervisor/input", "./supervisor/effect", "./supervisor/permission", "os", "net", "log/slog"}, direct: true,
		why: "documents and proofs are kept here; who runs checks, and who is told, is decided above"},
	{from: "./supervisor/question", to: []string{"./supervisor", "./supervisor/input", "./supervisor/conversation", "./supervisor/handoff", "./supervisor/task", "os", "net", "log/slog"}, direct: true,
		why: "what the human is asked is kept here; who asks, and what an answer leads to, is decided above"},
	{from: "./supervisor/rulings", to: []string{"./supervisor", "./supervisor/permission", "./supervisor/renewal", "./supervisor/question", "os", "net", "log/slog"}, direct: true,
		why: "what is decided is found and kept here; what follows is done above"},
	{from: "./supervisor/renewal", to: []string{"./supervisor", "./supervisor/input", "./supervisor/effect", "./supervisor/rulings", "./supervisor/permission", "os", "net", "log/slog"}, direct: true,
		why: "how far a renewal is, is kept here; who is asked and what process ends, is decided above"},
	{from: "./supervisor/sender", to: []string{"./supervisor", "./supervisor/effect", "./supervisor/rulings", "os", "net", "log/slog"}, direct: true,
		why: "who something is from is looked up here, and nothing changed"},
	{from: "./supervisor/settings", to: []string{"./supervisor", "./supervisor/roster", "./supervisor/input", "./supervisor/permission", "os", "net", "log/slog"}, direct: true,
		why: "options are changed here; what waits for them is held against them above"},
	{from: "./supervisor/toolset", to: []string{"./supervisor", "./supervisor/input", "./supervisor/effect", "./supervisor/rulings", "os", "net", "log/slog"}, direct: true,
		why: "tools are described here; what a call does is decided above"},
	{from: "./supervisor/agentconfig", to: []string{"./supervisor", "./supervisor/input", "./supervisor/effect", "./supervisor/conversation", "os", "net", "log/slog"}, direct: true,
		why: "what a process is started with follows from its arguments"},
	{from: "./supervisor/task", to: []string{"./supervisor", "./supervisor/input", "./supervisor/effect", "./supervisor/conversation", "./supervisor/permission", "os", "net", "log/slog"}, direct: true,
		why: "the plan and the executions are kept here; what follows from them is decided above"},
	{from: "./supervisor/acceptance", to: []string{module + "/...", "os", "net", "log/slog", "math/rand/v2", "time"}, but: "./supervisor/words", direct: true,
		why: "criteria are kept and judged here; who runs their commands, and who is told, is decided above"},
	{from: "./supervisor/budget", to: []string{"./supervisor", "./supervisor/roster", "./supervisor/input", "./supervisor/conversation", "os", "net", "log/slog", "math/rand/v2"}, direct: true,
		why: "what may be used is computed here; which turns are stopped, and who is told, is decided above"},
	{from: "./supervisor/changes", to: []string{"./supervisor", "./supervisor/input", "./supervisor/roster", "./internal/...", "os", "net", "log/slog"}, direct: true,
		why: "who changed which file is computed here; who takes snapshots, and who is told, is decided above"},
	{from: "./supervisor/lifecycle", to: []string{"./supervisor", "./supervisor/input", "os", "net", "log/slog", "math/rand/v2"}, direct: true,
		why: "which bridge is up, and what was seen of a process, is kept and judged here; what follows for agents is decided above"},
	{from: "./supervisor/inbox", to: []string{"./supervisor/runloop", "./tui/...", "os", "net"}, direct: true,
		why: "what waits for a human is computed from the state; who shows it, and who answers, is decided above"},
	{from: "./supervisor/isolation", to: []string{"./supervisor", "./supervisor/input", "./supervisor/roster", "./internal/...", "os", "net", "log/slog"}, direct: true,
		why: "what is merged is computed here; who uses Git, and who gets a message, is decided above"},
	{from: "./supervisor/input", to: []string{"./supervisor", "./supervisor/roster", "./supervisor/effect", "os", "net", "log/slog"}, direct: true,
		why: "what happened is data and its codec, and knows nothing of what follows from it"},
	{from: "./supervisor", to: []string{"./supervisor/runloop"}, why: "Apply does not know who plays it"},
	{from: "./supervisor/effect", to: []string{"./supervisor", "./supervisor/permission", "os", "net", "log/slog", "math/rand/v2"}, direct: true,
		why: "what a step wants done is collected, not done"},
	{from: "./supervisor/rights", to: []string{"./supervisor", "./bridge/...", "os", "net", "log/slog"}, direct: true,
		why: "who may do what is one table"},
	{from: "./supervisor/permission", to: []string{"./supervisor", "./supervisor/grants", "./supervisor/journal", "os", "net", "log/slog", "math/rand/v2"}, direct: true,
		why: "a part of the state is pure, and knows neither the whole nor the other parts: they meet in the dispatcher"},
	{from: "./supervisor/machine", to: []string{module + "/..."},
		why: "the table of moves is data"},
	{from: "./supervisor/verdict", to: []string{module + "/...", "os", "time"}, direct: true,
		why: "a verdict is judged by what it says alone"},
	{from: "./supervisor/envelope", to: []string{module + "/...", "os"}, direct: true,
		why: "who sent a message is decided by the caller, not found out"},
	{from: "./supervisor/decider", to: []string{"net", "net/http", "./bridge/..."}, direct: true,
		why: "who is asked, and how, is the Asker's"},
	{from: "./supervisor/decider/modelapi", to: []string{"./supervisor", "./bridge/...", "os", "os/exec", "log/slog"},
		direct: true, why: "it is given a key and an address, and tells nobody what it sends"},
	{from: "./supervisor/policy", to: []string{"./bridge/...", "./supervisor", "./supervisor/contract", "os/exec", "net", "net/http"}, direct: true,
		why: "a permission is decided by rules; nothing is run to find out"},
	{from: "./supervisor/policy/shell", to: []string{module + "/...", "os", "os/exec", "net"}, direct: true,
		why: "a command line is read as text"},
	{from: "./supervisor/trust", to: []string{module + "/...", "os/exec", "net", "net/http", "github.com/...", "log/slog"}, but: "./internal/statedir", direct: true,
		why: "a workspace is read with nothing of it being run, expanded or followed"},
	{from: "./supervisor/grants", to: []string{"./bridge/...", "./supervisor", "./supervisor/journal", "./supervisor/contract", "os/exec", "net", "log/slog"}, direct: true,
		why: "it keeps what was allowed, and knows nothing of who asks"},
	{from: "./supervisor/takeover", to: []string{"./supervisor", "./supervisor/contract", "./supervisor/journal", "os", "net", "log/slog"}, direct: true,
		why: "a part of the state: it returns the next value and texts, and coordinates nothing"},
	{from: "./supervisor/mask", to: []string{"./supervisor/...", "./sanitize/...", "os", "net", "log/slog"}, direct: true,
		why: "what a secret is says the caller"},
	{from: "./supervisor/clock", to: []string{module + "/..."},
		why: "a leaf: time, and the machine's sleep"},
	{from: "./supervisor", to: []string{"./supervisor/audit"},
		why: "an audit reads the history of a run; the run knows nothing of it"},
	{from: "./supervisor/contract", to: []string{"os", "os/exec", "net", "log/slog"}, direct: true,
		why: "the contract is types and codecs"},
	{from: "./bridge/...", to: []string{"./supervisor/...", "./tui/...", "./cmd/...", "./rehearsal/...", "./sanitize/..."},
		why: "the bridge decides nothing and shows nothing; it can run on another host"},
	{from: "./bridge", to: []string{"./bridge/claude/...", "./bridge/proctree/..."},
		why: "the protocol does not know the program behind it"},
	{from: "./bridge/sandbox", to: []string{"./bridge/claude/...", "./bridge/evidence/...", "./hooks/...", "./transcript/...", "log/slog"}, direct: true,
		why: "it confines whatever it is given, and reports by results"},
	{from: "./bridge/crashpoint", to: []string{module + "/..."},
		why: "a leaf that everything may call"},
	{from: "./supervisor/journal", to: []string{module + "/...", "log/slog", "encoding/gob"}, but: "./supervisor/journal/eventlog", direct: true,
		why: "it keeps bytes safe, and does not know what they say"},
	{from: "./supervisor/journal/eventlog", to: []string{module + "/...", "log/slog"}, direct: true,
		why: "lines and their checksums; what events say is their readers' business"},
	{from: "./supervisor/restart", to: []string{module + "/...", "os", "math/rand/v2", "crypto/rand"}, direct: true,
		why: "a pure function: what it decides can be decided again"},
	{from: "./hooks/...", to: []string{"./bridge/...", "./supervisor/...", "./tui/...", "./cmd/...", "./transcript", "./sanitize/...", "./rehearsal/..."}, why: "a leaf but for jsonl: pure policy that must start in milliseconds"},
	{from: "./transcript/...", to: []string{"./bridge/...", "./supervisor/...", "./tui/...", "./cmd/...", "./hooks/...", "./sanitize/...", "./rehearsal/..."},
		why: "its format drifts on its own"},
	{from: "./transcript/jsonl", to: []string{module + "/...", "os", "log/slog", "net"}, direct: true, why: "a leaf: bytes in, lines and members out"},
	{from: "./sanitize/...", to: []string{module + "/...", "github.com/...", "golang.org/..."}, why: "a leaf that everything shown goes through: nothing to trust but the standard library"},
	{from: "./sanitize/...", to: []string{"os", "io", "fmt", "regexp"}, direct: true, why: "text in, text out, on every line that is shown"},
	{from: "./rehearsal/...", to: []string{"./bridge/...", "./supervisor/...", "./tui/...", "./cmd/...", "./sanitize/..."},
		why: "a scripted peer that shared code with what it tests would share its mistakes"},
	{from: "./...", to: []string{"./cmd/..."}, why: "only main wires things together, and it has rooms of its own"},
	{from: "./cmd/arbiter/internal/...", to: []string{"./tui/...", "./bridge/claude/...", "os/exec", "os/signal"}, direct: true,
		why: "rooms of the program show nothing and start nothing: that is main's"},
	{from: "./cmd/arbiter/internal/secrets", to: []string{"./supervisor/...", "./bridge/..."}, why: "what is secret is told by names and values alone"},
	{from: "./cmd/arbiter/internal/socket", to: []string{"./bridge/...", "./supervisor/...", "./hooks/..."}, why: "a place to listen at, whoever speaks there"},
	{from: "./cmd/arbiter/internal/runarchive", to: []string{"./supervisor/...", "./bridge/...", "log/slog", "net"},
		why: "files, sizes and hashes: what a journal says is its readers' business"},
	{from: "./cmd/arbiter/internal/webnotify", to: []string{"./bridge/...", "./supervisor", "os"}, direct: true,
		why: "what is posted elsewhere is made of who waits for what, and of nothing else"},
	{from: "./cmd/arbiter/internal/telemetry", to: []string{"./bridge/...", "./supervisor", "os"}, direct: true,
		why: "spans are made of what a run tells, and of nothing else"},
	{from: "./cmd/arbiter/internal/webpage", to: []string{"./supervisor", "./supervisor/runloop", "os"}, direct: true,
		why: "a page is a client of the control socket: what it shows is told, and what it does is asked for"},
	{from: "./cmd/arbiter/internal/scratch", to: []string{module + "/...", "log/slog", "net"}, direct: true, why: "a leaf: directories, and whose they are"},
	{from: "./cmd/arbiter/internal/mcpserver", direct: true,
		to:  []string{"./supervisor", "./supervisor/runloop", "net", "log/slog"},
		why: "a client of runs like every other: it asks them by their sockets and reads what they told"},
	{from: "./cmd/arbiter/internal/acpagent", direct: true,
		to:  []string{"./supervisor", "./supervisor/runloop", "net", "os"},
		why: "a client of runs like every other: it asks them by their sockets and reads what they told"},
	{from: "./internal/backlog", to: []string{module + "/...", "github.com/...", "log/slog", "os"}, direct: true,
		why: "a leaf: a queue, whatever waits in it"},
	{from: "./internal/yamldoc", to: []string{module + "/...", "os", "log/slog", "net"}, direct: true,
		why: "a leaf: text in, values with their places out"},
	{from: "./cmd/...", to: []string{"github.com/goccy/go-yaml/..."}, direct: true, why: "internal/yamldoc is the one reader of YAML"},
	{from: "./supervisor/...", to: []string{"github.com/goccy/go-yaml/..."}, direct: true, why: "internal/yamldoc is the one reader of YAML"},
	{from: "./rehearsal", to: []string{"github.com/goccy/go-yaml/..."}, direct: true, why: "internal/yamldoc is the one reader of YAML"},
	{from: "./internal/statedir", to: []string{module + "/...", "github.com/...", "log/slog", "net", "os/exec"}, direct: true,
		why: "a leaf: small files that are the user's alone, whatever they say"},
	{from: "./internal/memory", to: []string{"./supervisor", "./supervisor/runloop", "./bridge/...", "./tui/...", "os/exec", "net", "log/slog"}, direct: true,
		why: "it keeps what it is given, and knows nothing of the run that reads it"},
	{from: "./internal/report", to: []string{"./supervisor", "./supervisor/runloop", "./tui/...", "os", "net", "log/slog"}, direct: true,
		why: "it is told events and changes, and writes to whom it is given"},
	{from: "./internal/spending", to: []string{"./supervisor", "./supervisor/journal", "./tui/...", "os", "net"},
		direct: true, why: "it is told events, and adds up"},
	{from: "./internal/git", to: []string{module + "/...", "github.com/...", "log/slog", "net"}, but: "./bridge/childenv", direct: true,
		why: "it runs git, and knows nothing of what for"},
	{from: "./internal/workspace/...", to: []string{"./supervisor/...", "./bridge/...", "./tui/...", "./cmd/...", "./hooks/...", "./transcript/...", "./rehearsal/...", "log/slog", "net"}, direct: true,
		why: "files and commits: who works on them, and why, is the caller's business"},
	{from: "./internal/workspace", to: []string{"./internal/workspace/..."}, direct: true, why: "snapshots come first: what is made of them knows them, not the other way round"},
	{from: "./supervisor/words", to: []string{module + "/...", "os"}, direct: true, why: "a leaf: numbers in, words out"},
	{from: "./cmd/arbiter/internal/manual", to: []string{"./bridge/...", "./supervisor/...", "./cmd/...", "./hooks/...", "./transcript/...", "./sanitize/...", "os", "os/exec"}, but: "./supervisor/words", direct: true,
		why: "what is told of the program is read from its table of commands, and from nothing else"},
	{from: "./cmd/arbiter/internal/doctor", to: []string{"./tui/...", "./bridge/proctree", "./bridge/claude", "os/exec"}, direct: true,
		why: "it judges what it is told, and speaks to a bridge: who asks it looks, and starts what is to be started"},
	{from: "./...", to: []string{"log", "io/ioutil", "math/rand", "unsafe", "github.com/stretchr/testify/...", "github.com/pkg/errors"}, direct: true,
		why: "log/slog handed in, today's packages, the standard library's errors and go-cmp do"},
}

// reserved are modules with one place of their own.
var reserved = []struct {
	what  string
	where []string
	why   string
}{
	{"github.com/urfave/cli/v2", []string{"./cmd/..."}, "flags are parsed in one place"},
	{"github.com/sourcegraph/jsonrpc2", []string{"./bridge", "./bridge/control", "./cmd/arbiter/internal/acpagent"},
		"its traps are dealt with where a protocol is framed"},
	{"github.com/modelcontextprotocol/go-sdk/...",
		[]string{"./bridge/claude", "./cmd/arbiter", "./cmd/arbiter/internal/mcpserver"},
		"MCP is spoken inside of the CLI's control protocol, and by arbiter mcp"},
	{"github.com/rivo/tview", []string{"./tui/..."}, "only screens draw"},
	{"github.com/gdamore/tcell/v2/...", []string{"./tui/..."}, "only screens draw"},
	{"github.com/creack/pty", []string{"./bridge/...", "./rehearsal/terminal"}, "terminals are lent out by the bridge; tests and pictures have one of their own"},
	{"github.com/charmbracelet/...", []string{"./rehearsal/terminal"}, "the emulator is for tests and pictures, and has traps that are dealt with in one place"},
	{"github.com/fsnotify/fsnotify", []string{"./transcript/..."}, "files are followed in one place"},
}

// testOnly may be imported by tests, and by packages that exist for tests.
var testOnly = []string{"testing", "testing/...", "github.com/google/go-cmp/...", "go.uber.org/goleak", "golang.org/x/tools/txtar", "github.com/rogpeppe/go-internal/..."}

var forTests = []string{"./cmd/arbiter/internal/acpagent/acpschema", "./internal/workspace/gittest",
	"./internal/hosts/hosttest",
	"./rehearsal/corpus", "./rehearsal/wirecase", "./tui/tuitest"}

// pkg is what `go list -json` says of a package.
type pkg struct {
	ImportPath string
	Name       string
	Dir        string
	Doc        string
	Imports    []string
	Deps       []string
}

// list asks the go command, for each platform we build for: files for one of them
// are invisible on the other.
func list(t *testing.T, goos string) []pkg {
	t.Helper()
	if all := listed[goos]; all != nil {
		return all
	}
	cmd := exec.Command("go", "list", "-json=ImportPath,Name,Dir,Doc,Imports,Deps", "./...")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var all []pkg
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 8 {
		t.Fatalf("go list found %d packages only", len(all))
	}
	listed[goos] = all
	return all
}

// listed is what go list has found, by the operating system: it takes a second each time.
var listed = map[string][]pkg{}

func TestImports(t *testing.T) {
	for _, goos := range []string{"linux", "darwin"} {
		t.Run(goos, func(t *testing.T) {
			for _, p := range list(t, goos) {
				checkForbidden(t, p)
				checkReserved(t, p)
				for _, imported := range p.Imports {
					if matchAny(testOnly, imported) && !matchAny(forTests, p.ImportPath) {
						t.Errorf("%s imports %s: that is for tests", short(p.ImportPath), imported)
					}
				}
			}
		})
	}
}

func checkForbidden(t *testing.T, p pkg) {
	t.Helper()
	for _, r := range forbidden {
		if !match(r.from, p.ImportPath) {
			continue
		}
		imports := p.Deps
		if r.direct {
			imports = p.Imports
		}
		for _, imported := range imports {
			// Within the subtree a rule is about, its packages may use one another.
			own := strings.HasSuffix(r.from, "/...") && r.from != "./..." && match(r.from, imported) ||
				match("./cmd/...", p.ImportPath) && match("./cmd/...", imported)
			if matchAny(r.to, imported) && !own && !match(r.but, imported) {
				t.Errorf("%s must not import %s: %s", short(p.ImportPath), short(imported), r.why)
			}
		}
	}
}

func checkReserved(t *testing.T, p pkg) {
	t.Helper()
	for _, r := range reserved {
		for _, imported := range p.Imports {
			if match(r.what, imported) && !matchAny(r.where, p.ImportPath) {
				t.Errorf("%s must not import %s: %s", short(p.ImportPath), imported, r.why)
			}
		}
	}
}

// TestRulesAreAlive breaks rules on purpose: a table that matches nothing guards
// nothing.
func TestRulesAreAlive(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"./bridge", module + "/bridge", true},
		{"./bridge", module + "/bridge/claude", false},
		{"./bridge/...", module + "/bridge", true},
		{"./bridge/...", module + "/bridge/claude", true},
		{"./bridge/...", module + "/bridgehead", false},
		{"./...", module + "/cmd/arbiter", true},
		{"./...", "os", false},
		{module + "/...", module + "/hooks", true},
		{"os", "os/exec", false},
		{"github.com/...", "github.com/x/y", true},
	} {
		if got := match(tt.pattern, tt.name); got != tt.want {
			t.Errorf("%s matches %s: %v, want %v", tt.pattern, tt.name, got, tt.want)
		}
	}
	var names []string
	for _, p := range list(t, "linux") {
		names = append(names, p.ImportPath)
	}
	planned := []string{"./tui/...", "./hooks/...", "./transcript/..."}
	for _, r := range forbidden {
		used := slices.ContainsFunc(names, func(n string) bool { return match(r.from, n) })
		if !used && !slices.Contains(planned, r.from) {
			t.Errorf("a rule about %s, which no package is", r.from)
		}
	}
}

// TestPackagesSayWhatTheyAre: a package comment states purpose, ownership, ordering
// and shutdown; without one nobody knows who owns which goroutine.
func TestPackagesSayWhatTheyAre(t *testing.T) {
	for _, p := range list(t, "linux") {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", short(p.ImportPath))
		}
		switch path.Base(p.ImportPath) {
		case "util", "utils", "common", "helpers", "models", "misc":
			t.Errorf("%s: a package is named after what it is", short(p.ImportPath))
		}
	}
}

func matchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, name) })
}

func match(pattern, name string) bool {
	if rest, ok := strings.CutPrefix(pattern, "./"); ok {
		pattern = module + "/" + rest
	}
	if stem, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == stem || strings.HasPrefix(name, stem+"/")
	}
	return name == pattern
}

func short(name string) string { return strings.TrimPrefix(name, module+"/") }

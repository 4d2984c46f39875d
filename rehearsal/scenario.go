package rehearsal

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Scenario is a parsed script: its actors, and the answers of each. It is immutable and may be played by
// several servers.
type Scenario struct {
	Name        string
	Title       string
	Description string

	file   string
	allow  []string
	vars   map[string]string
	files  map[string]string
	actors []*actor

	texts  []*text         // all templates
	groups map[string]bool // names that expectations capture anywhere
}

// Allow lists the permission rules, in Claude's syntax, that are needed to run the scenario's tool calls
// without asking.
func (s *Scenario) Allow() []string { return slices.Clone(s.allow) }

// Vars returns the scenario's variables with their defaults.
func (s *Scenario) Vars() map[string]string { return maps.Clone(s.vars) }

// Files returns the workspace's files at the beginning of the scenario: texts by slash-separated relative
// paths.
func (s *Scenario) Files() map[string]string { return maps.Clone(s.files) }

// actor is one part in the play. Every conversation that matches it plays the
// steps from the first.
type actor struct {
	name      string
	line      int
	match     match
	steps     []*step
	otherwise []*step // the first that matches
}

// match selects the conversations that an actor plays.
type match struct {
	role     Role
	contains *regexp.Regexp // on the first user text
	model    *regexp.Regexp
	nth      int // the nth conversation that matches the rest; 0 = each
}

// step is one answer of the model.
type step struct {
	line       int
	expect     *regexp.Regexp
	think, say *text
	use        []toolUse
	usage      usage
	stopReason string
	delay      time.Duration
	pause      time.Duration // before the answer, if a human watches
	chunkDelay time.Duration
	repeat     int // how many times it is played
	headers    map[string]string
	fault      *fault
}

// toolUse is one call. A verdict is a call of StructuredOutput, the tool that
// --json-schema adds.
type toolUse struct {
	tool  string
	input map[string]tree
}

// usage overrides figures that would be made up; nil fields stay made up.
type usage struct {
	context                                 *text // the whole of the input side
	input, cacheRead, cacheCreation, output *text
}

// fault is an API error. Either the request is refused (status, garbage, errorEvent, cutAfter), or it is
// answered late (stall, stallMid).
type fault struct {
	status     int
	errorType  string
	message    *text
	headers    map[string]string
	stall      time.Duration
	stallMid   time.Duration
	cutAfter   int // events sent before the connection is cut; 0 = no cut
	garbage    bool
	errorEvent string
}

// answers reports whether the client gets the step's content in the end.
func (f *fault) answers() bool {
	return f == nil || f.status == 0 && f.cutAfter == 0 && !f.garbage && f.errorEvent == ""
}

// Role is the role of a conversation, judged by the tools that its requests offer.
type Role string

// The roles that a request can have. RoleAny is only used in a match: it matches every role but side.
const (
	RoleAny          Role = "any"
	RoleArbiter      Role = "arbiter"      // offers mcp__arbiter__spawn_orchestrator
	RoleOrchestrator Role = "orchestrator" // offers mcp__arbiter__report_progress
	RoleMain         Role = "main"         // the main thread of any other session
	RoleSubagent     Role = "subagent"     // started by the Agent tool
	RoleSide         Role = "side"         // titles, side questions, compaction: outside the history
)

var roles = []Role{RoleAny, RoleArbiter, RoleOrchestrator, RoleMain, RoleSubagent, RoleSide}

//go:embed scenarios/*.yaml
var builtin embed.FS

const defaultScenario = "small-job"

// Load reads a scenario file.
func Load(path string) (*Scenario, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read scenario: %w", err)
	}
	return Parse(path, src)
}

// Builtin returns an embedded scenario; "" is the default one.
func Builtin(name string) (*Scenario, error) {
	if name == "" {
		name = defaultScenario
	}
	src, err := BuiltinSource(name)
	if err != nil {
		return nil, err
	}
	return Parse(name+".yaml", src)
}

// BuiltinNames lists the embedded scenarios, sorted.
func BuiltinNames() []string {
	paths, err := fs.Glob(builtin, "scenarios/*.yaml")
	if err != nil {
		panic(err) // the pattern is constant
	}
	for i, p := range paths {
		paths[i] = strings.TrimSuffix(filepath.Base(p), ".yaml")
	}
	slices.Sort(paths)
	return paths
}

// BuiltinSource returns the text of an embedded scenario, to be read or modified.
func BuiltinSource(name string) ([]byte, error) {
	src, err := builtin.ReadFile("scenarios/" + name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("there is no built-in scenario %q: use one of %s", name,
			strings.Join(BuiltinNames(), ", "))
	}
	return src, nil
}

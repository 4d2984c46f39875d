package importrules

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

const module = "github.com/arbiter-cli/arbiter"

// directions are the imports that the parts of the repository may not have. A name that begins with "./" is a
// package of this module; one that ends in "/..." means the package and all below it.
var directions = []struct {
	from, to string // lists of names
	direct   bool   // only direct imports; otherwise indirect ones too
	why      string
}{
	{"./supervisor/...", "./tui/... ./rehearsal/... ./cmd/... ./bridge/claude/... ./bridge/proctree/...", false,
		"the supervisor knows the bridge's protocol, not who plays it or who looks on"},
	{"./supervisor", "os os/exec os/signal net net/http io/fs path/filepath math/rand math/rand/v2 crypto/rand", true,
		"apply is a fold over facts: what reads the world does so outside and comes in as a fact"},
	{"./tui/...", "./bridge/... ./hooks/... ./transcript ./rehearsal/...", true,
		"screens are a projection of the supervisor's snapshots"},
	{"./tui/...", "os/exec github.com/creack/pty github.com/sourcegraph/jsonrpc2 github.com/fsnotify/fsnotify", true,
		"screens start nothing and watch nothing: they send commands"},
	{"./bridge/...", "./supervisor/... ./tui/... ./cmd/... ./rehearsal/... ./sanitize/...", false,
		"the bridge decides nothing and shows nothing; it can run on another host"},
	{"./hooks/...", "./bridge/... ./supervisor/... ./tui/... ./cmd/... ./transcript ./sanitize/... ./rehearsal/...", false,
		"pure policy that must start in milliseconds"},
	{"./transcript/...", "./bridge/... ./supervisor/... ./tui/... ./cmd/... ./hooks/... ./sanitize/... ./rehearsal/...",
		false, "its format drifts on its own"},
	{"./sanitize/...", "./supervisor/... ./bridge/... ./tui/... ./cmd/... ./internal/... github.com/... golang.org/...",
		false, "everything shown goes through it: nothing to trust but the standard library"},
	{"./rehearsal/...", "./bridge/... ./supervisor/... ./tui/... ./cmd/... ./sanitize/...", false,
		"a scripted peer that shared code with what it tests would share its mistakes"},
	{"./internal/...", "./rehearsal/... ./tui/... ./cmd/...", false, "only commands offer rehearsals, screens and flags"},
}

// TestDirections checks the direct and indirect imports of each platform: files for one are invisible on the other.
func TestDirections(t *testing.T) {
	for _, goos := range []string{"linux", "darwin"} {
		cmd := exec.Command("go", "list", "-f", `{{.ImportPath}};{{join .Imports " "}};{{join .Deps " "}}`, "./...")
		cmd.Dir = "../.."
		cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
		out, err := cmd.Output()
		testkit.Need(t, err == nil, "go list: %v", err)
		used := make([]bool, len(directions))
		for line := range strings.Lines(string(out)) {
			p := strings.Split(strings.TrimSpace(line), ";")
			for i, d := range directions {
				if !match(d.from, p[0]) {
					continue
				}
				used[i] = true
				imports := p[2]
				if d.direct {
					imports = p[1]
				}
				for _, imported := range strings.Fields(imports) {
					if match(d.to, imported) {
						t.Errorf("%s must not import %s: %s", p[0], imported, d.why)
					}
				}
			}
		}
		for i, d := range directions {
			testkit.Check(t, used[i], "a rule about %s, which no package is", d.from)
		}
	}
}

// TestDirectionsMatch: a rule that matches nothing protects nothing.
func TestDirectionsMatch(t *testing.T) {
	for _, tt := range []struct {
		patterns, name string
		want           bool
	}{
		{"./bridge", module + "/bridge", true}, {"./bridge", module + "/bridge/claude", false},
		{"./tui ./bridge/...", module + "/bridge", true}, {"./bridge/...", module + "/bridge/claude", true},
		{"./bridge/...", module + "/bridgehead", false}, {"os", "os/exec", false}, {"github.com/...", "github.com/x/y", true},
	} {
		testkit.Same(t, fmt.Sprintf("%s matches %s", tt.patterns, tt.name), tt.want, match(tt.patterns, tt.name))
	}
}

func match(patterns, name string) bool {
	return slices.ContainsFunc(strings.Fields(patterns), func(pattern string) bool {
		if rest, ok := strings.CutPrefix(pattern, "./"); ok {
			pattern = module + "/" + rest
		}
		stem, below := strings.CutSuffix(pattern, "/...")
		return name == stem || below && strings.HasPrefix(name, stem+"/")
	})
}

// networks are the only directories that may use a network, with the reason. All other code uses pipes,
// terminals and sockets of this machine: unless asked, arbiter sends nothing about a run, looks for no newer
// version, and listens on no network.
var networks = map[string]string{
	"supervisor/decider/modelapi.":             "questions of a decider, to the provider that --decider-provider names",
	"bridge/acp/acptest/":                      "a scripted model on loopback",
	"bridge/egress/":                           "connections of sandboxed agents, to the hosts that the user names",
	"bridge/sandbox/":                          "the loopback of a sandbox, and its trial",
	"internal/testkit/":                        "hosts of tests, on loopback",
	"rehearsal/":                               "a scripted model on loopback, and the client of it that plays the CLI",
	"cmd/arbiter/internal/settings/webnotify.": "notifications that --notify ntfy:URL or webhook:URL asks for",
	"cmd/arbiter/internal/host/telemetry.":     "spans, to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names",
	"cmd/arbiter/internal/clients/webpage.":    "the page of a run, which a person asks for, on loopback by default",
}

var (
	// networkImport matches the import of a package for other machines.
	networkImport = regexp.MustCompile(
		`(?m)^\s*(?:import\s+)?(?:\w+\s+)?"(net/(?:http|smtp|rpc)[^"]*|crypto/tls|golang\.org/x/net[^"]*)"$`)
	// networkWord matches the name of a network, as net.Dial and net.Listen take it.
	networkWord = regexp.MustCompile(`"(?:tcp|udp|ip)[46]?(?::[^"]*)?"|\bnet\.(?:Dial|Listen)(?:TCP|UDP|IP)\b`)
)

// TestNothingCallsHome: only these directories use a network.
func TestNothingCallsHome(t *testing.T) {
	used := map[string]bool{}
	goFiles(t, func(name string, text []byte) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		found := networkImport.FindSubmatch(text)
		what := ""
		if found != nil {
			what = string(found[1])
		} else if word := networkWord.Find(text); word != nil {
			what = string(word)
		}
		if what == "" {
			return
		}
		for place := range networks {
			if strings.HasPrefix(name, place) {
				used[place] = true
				return
			}
		}
		t.Errorf("%s knows of a network: %s", name, what)
	})
	for place := range networks {
		testkit.Check(t, used[place], "%s needs no network any more", place)
	}
}

// TestNetworkIsRecognised: examples of what the rule finds, and of what it accepts.
func TestNetworkIsRecognised(t *testing.T) {
	for text, want := range map[string]bool{
		"import (\n\t\"net/http\"\n)": true, "import \"net/http\"\n": true, "import h \"net/http/httputil\"\n": true,
		"import \"crypto/tls\"\n": true, `net.Dial("tcp", a)`: true, `net.Listen("tcp4", a)`: true,
		`net.DialUDP(n, nil, a)`: true, "import \"net\"\n": false, "import \"net/url\"\n": false,
		`net.Dial("unix", a)`: false, "// \"net/http\" is not used": false,
	} {
		testkit.Same(t, text, want, networkImport.MatchString(text) || networkWord.MatchString(text))
	}
}

package importrules

import (
	"regexp"
	"strings"
	"testing"
)

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
		if !used[place] {
			t.Errorf("%s needs no network any more", place)
		}
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
		if got := networkImport.MatchString(text) || networkWord.MatchString(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

package settings

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/hosts"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestPassedValuesAreMasked: the values of variables that are passed to a host are masked, whatever their names.
func TestPassedValuesAreMasked(t *testing.T) {
	t.Setenv("LOOM_PASS", "warp-and-weft-41")
	t.Setenv("LOOM_DIR", "/srv/looms/west")
	there := hosts.Config{Hosts: []hosts.Host{{Name: "box", PassEnv: []string{"LOOM_PASS", "LOOM_DIR"}}}}
	text := "the host said warp-and-weft-41 in /srv/looms/west"
	if got := MaskerOf(runconfig.Options{}, there)(text); got != text {
		t.Errorf("of a host that the run does not use: %q", got)
	}
	got := MaskerOf(runconfig.Options{Hosts: []runconfig.Host{{Name: "box"}}}, there)(text)
	if strings.Contains(got, "warp-and-weft") || !strings.Contains(got, "/srv/looms/west") {
		t.Errorf("masked: %q", got)
	}
}

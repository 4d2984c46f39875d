package importrules

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

var update = flag.Bool("update", false, "write the address of scripts/address into the README")

var cloneLine = regexp.MustCompile(`(?m)^git clone (\S+) arbiter && cd arbiter.*$`)

// TestAddress: the README clones from the address in scripts/address, which is ADDRESS until the repository is
// published. `go test ./scripts/importrules -run TestAddress -update` writes it there.
func TestAddress(t *testing.T) {
	address := strings.TrimSpace(read(t, "../address"))
	want := "git clone " + address + " arbiter && cd arbiter"
	if address == "ADDRESS" {
		want += "    # ADDRESS is that of this repository"
	}
	readme := read(t, "../../README.md")
	got := cloneLine.FindString(readme)
	if got == want {
		return
	}
	if !*update || got == "" {
		t.Fatalf("the README says %q, want %q; -update writes it", got, want)
	}
	text := strings.Replace(readme, got, want, 1)
	testkit.OK(t, os.WriteFile("../../README.md", []byte(text), 0o644))
}

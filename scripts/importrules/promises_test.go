package importrules

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

var namedTest = regexp.MustCompile("`([a-z/]+\\.(?:Test|Fuzz)\\w+|scripts/[a-z-]+)`")

// TestPromisesAreTested: each promise in docs/promises.md has a test, each page for users has promises there,
// and each test that it or SECURITY.md names exists.
func TestPromisesAreTested(t *testing.T) {
	pages, tree := documents(t), os.DirFS("../..")
	for page, least := range map[string]int{"docs/promises.md": 120, "SECURITY.md": 40} {
		named := namedTest.FindAllStringSubmatch(pages[page], -1)
		if len(named) < least {
			t.Errorf("%s names %d tests", page, len(named))
		}
		for _, m := range named {
			testkit.Same(t, page, "", missingTest(tree, m[1]))
		}
	}
	tested, _, _ := strings.Cut(pages["docs/promises.md"], "\n## Not tested\n")
	for _, promise := range strings.Split(tested, "\n- ")[1:] {
		if promise, _, _ = strings.Cut(promise, "\n\n"); !namedTest.MatchString(promise) {
			t.Errorf("a promise without a test: %s", promise)
		}
	}
	inside := []string{"README", "promises", "changing", "configuration", "commands", "decisions", "glossary", "machine",
		"packages", "prompts"} // pages that promise nothing of their own
	for page := range pages {
		name, ok := strings.CutPrefix(page, "docs/")
		if ok && !slices.Contains(inside, strings.TrimSuffix(name, ".md")) &&
			!strings.Contains(pages["docs/promises.md"], "]("+name+")") {
			t.Errorf("docs/promises.md has nothing of %s", name)
		}
	}
}

package words

import (
	"strings"
	"testing"
)

func TestTitle(t *testing.T) {
	for task, want := range map[string]string{
		"":                            "",
		"Make a thing\nand another":   "Make a thing",
		"\n  # A lighthouse\n\nTall.": "A lighthouse",
		"#42 is broken":               "#42 is broken",
		"---\n***\nAfter rules":       "After rules",
		Requirements("R.md", "# A lighthouse\n\nIt must be tall.\n"):                 "A lighthouse",
		Requirements("R.md", "It must be tall."):                                     "It must be tall.",
		"Build this\n\n" + Requirements("R.md", "# A lighthouse"):                    "Build this",
		Requirements("R.md", Requirements("inner.md", "twice")):                      "Requirements (inner.md):",
		Requirements("R.md", "###\n"):                                                "",
		Requirements("R.md", "Written in May.\n\n## A lighthouse\n# More"):           "A lighthouse",
		Requirements("R.md", "---\ntitle: x\n---\n# A lighthouse"):                   "A lighthouse",
		Requirements("R.md", "Run it:\n```\n# as root\nmake\n```\nA lighthouse"):     "Run it:",
		Requirements("R.md", "Run it:\n~~~\n# as root\n```\n~~~\n# A lighthouse"):    "A lighthouse",
		Requirements("R.md", "A lighthouse\n"+strings.Repeat("\n", 1000)+"# Behind"): "A lighthouse",
		"Two things\n# A heading":                                                    "Two things",
	} {
		if got := Title(task); got != want {
			t.Errorf("%q is called %q, want %q", task, got, want)
		}
	}
}

package words

import "testing"

func TestTitle(t *testing.T) {
	for task, want := range map[string]string{
		"":                            "",
		"Make a thing\nand another":   "Make a thing",
		"\n  # A lighthouse\n\nTall.": "A lighthouse",
		"#42 is broken":               "#42 is broken",
		"---\n***\nAfter rules":       "After rules",
		Requirements("R.md", "# A lighthouse\n\nIt must be tall.\n"): "A lighthouse",
		Requirements("R.md", "It must be tall."):                     "It must be tall.",
		"Build this\n\n" + Requirements("R.md", "# A lighthouse"):    "Build this",
		Requirements("R.md", Requirements("inner.md", "twice")):      "Requirements (inner.md):",
		Requirements("R.md", "###\n"):                                "",
	} {
		if got := Title(task); got != want {
			t.Errorf("%q is called %q, want %q", task, got, want)
		}
	}
}

package screenhost

import (
	"slices"
	"testing"
)

// TestEditorPlace: each known editor gets the line in its own format; an unknown editor opens the file only.
func TestEditorPlace(t *testing.T) {
	for editor, want := range map[string][]string{
		"vi": {"+7", "/w/a b"}, "/usr/bin/nvim -p": {"+7", "/w/a b"}, "hx": {"/w/a b:7"},
		"code --wait": {"--goto", "/w/a b:7"}, "my-editor": {"/w/a b"}, "": {"/w/a b"},
	} {
		if got := editorPlace(editor, "/w/a b", 7); !slices.Equal(got, want) {
			t.Errorf("%q is given %q, want %q", editor, got, want)
		}
	}
	if got := editorPlace("vi", "/w/a", 1); !slices.Equal(got, []string{"/w/a"}) {
		t.Errorf("at the beginning, vi is given %q", got)
	}
}

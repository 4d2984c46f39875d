package tui

import (
	"errors"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

func TestImagePath(t *testing.T) {
	for text, want := range map[string]string{
		"/tmp/a.png":                "/tmp/a.png",
		" /tmp/a.JPG \n":            "/tmp/a.JPG",
		`/tmp/my\ shot\ \(1\).webp`: "/tmp/my shot (1).webp",
		"'/tmp/my shot.gif'":        "/tmp/my shot.gif",
		"file:///tmp/my%20shot.png": "/tmp/my shot.png",
		"~/shot.jpeg":               "~/shot.jpeg",
		"shot.png":                  "",
		"/tmp/a.txt":                "",
		"/tmp/a.png\n/tmp/b.png":    "",
		"":                          "",
	} {
		if got := imagePath(text); got != want {
			t.Errorf("imagePath(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestImagesAreAttached: a pasted path of an image becomes a mark, which is deleted as a whole, and the
// message carries the images whose marks it contains. The path of any other file stays text.
func TestImagesAreAttached(t *testing.T) {
	play(t, 100, 30, nil, func(s *scene) {
		s.startWork()
		s.Type("like ")
		s.Paste("/tmp/a.png")
		s.Expect("like [image 1: 640×480 png]")
		s.Paste("/tmp/b.png")
		s.Expect("[image 2: 640×480 png]")
		s.Press("Backspace", "Backspace") // the space, then the mark
		s.ExpectNot("[image 2")
		s.Type("and not ")
		s.Paste("/tmp/torn.png")
		s.Type("\n")
		want := contract.CommandBody(contract.Say{Text: "like [image 1: 640×480 png] and not /tmp/torn.png",
			Images: []string{"/tmp/a.png"}})
		s.expectTook(want)
		s.Type("/image /tmp/c.png\n")
		s.Expect("[image 3: 640×480 png]")
		s.Type("is it\n")
		want = contract.Say{Text: "[image 3: 640×480 png] is it", Images: []string{"/tmp/c.png"}}
		s.expectTook(want)
		s.Type("/image torn\n")
		s.Expect("it is not an image that can be sent")
	})
}

func (h *fakeHost) Image(path string) (absolute, size string, err error) {
	if strings.Contains(path, "torn") {
		return "", "", errors.New("image " + path + ": it is not an image that can be sent")
	}
	return path, "640×480 png", nil
}

package runstore_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// oneDot is a WebP image of one pixel: there is no encoder for it.
const oneDot = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="

func encoded(t *testing.T, w, h int, encode func(io.Writer, image.Image) error) []byte {
	t.Helper()
	var b bytes.Buffer
	testkit.OK(t, encode(&b, image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.Black, color.White})))
	return b.Bytes()
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		testkit.OK(t, os.WriteFile(path, data, 0o600))
		return path
	}
	dot := testkit.Must(base64.StdEncoding.DecodeString(oneDot))(t)
	pipe := filepath.Join(dir, "pipe")
	testkit.OK(t, syscall.Mkfifo(pipe, 0o600))
	tests := map[string]struct{ path, want, problem string }{
		// The contents count, not the name.
		"png":    {path: file("a.txt", encoded(t, 64, 48, png.Encode)), want: "64×48 png"},
		"jpeg":   {path: file("b.png", encoded(t, 3, 5, asJPEG)), want: "3×5 jpeg"},
		"gif":    {path: file("c.gif", encoded(t, 7, 1, asGIF)), want: "7×1 gif"},
		"webp":   {path: file("d.webp", dot), want: "1×1 webp"},
		"text":   {path: file("e.png", []byte("no image")), problem: "it is not an image that can be sent"},
		"none":   {path: filepath.Join(dir, "f.png"), problem: "it cannot be read: no such file or directory"},
		"folder": {path: dir, problem: "it is not a file"},
		"pipe":   {path: pipe, problem: "it is not a file"},
		"large": {path: file("g.png", make([]byte, runstore.MaxBytes+1)),
			problem: "it is too large: 3.9 MB, and at most 3.9 MB can be sent"},
		"wide": {path: file("h.png", encoded(t, runstore.MaxSide+1, 1, png.Encode)),
			problem: "it is too large: 8001×1 pixels, and at most 8000×8000 can be sent"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			is, data, err := runstore.ReadImages(tt.path)
			switch {
			case tt.problem != "":
				testkit.Check(t, err != nil && strings.HasPrefix(err.Error(), "image "+tt.path+": "+tt.problem),
					"Read: %v", err)
			case err != nil || is.Size() != tt.want || is.Bytes != len(data) || is.Path != tt.path:
				t.Errorf("Read: %+v, %v", is, err)
			}
		})
	}
}

func asJPEG(w io.Writer, i image.Image) error { return jpeg.Encode(w, i, nil) }
func asGIF(w io.Writer, i image.Image) error  { return gif.Encode(w, i, nil) }

// TestStore: a kept image is available although the file has changed; an image that was changed in the store is
// not loaded.
func TestStore(t *testing.T) {
	dir, base := filepath.Join(t.TempDir(), "images"), t.TempDir()
	picture := encoded(t, 64, 48, png.Encode)
	path := filepath.Join(base, "a.png")
	testkit.OK(t, os.WriteFile(path, picture, 0o600))
	s := runstore.NewStore(dir, base)
	testkit.Fails(t, "an image that is not there is kept", testkit.Err(s.Keep([]string{"a.png", "b.png"})))
	kept, err := s.Keep([]string{"a.png", path})
	testkit.Need(t, err == nil && len(kept) == 2 && kept[0] == kept[1] && kept[0].Path == path, "Keep: %+v, %v", kept,
		err)
	testkit.OK(t, os.WriteFile(path, []byte("another"), 0o600))
	data, err := s.Load(kept[0])
	testkit.Check(t, err == nil && bytes.Equal(data, picture), "Load: %d bytes, %v", len(data), err)
	testkit.OK(t, os.WriteFile(filepath.Join(dir, kept[0].SHA256), []byte("another"), 0o600))
	testkit.Fails(t, "another image is loaded", testkit.Err(s.Load(kept[0])))
}

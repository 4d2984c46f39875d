package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// seeing is a play in which the Arbiter looks at the image it received.
const seeing = `
name: seeing
title: An image
actors:
  - name: arbiter
    match: {role: arbiter}
    otherwise:
      verdict: {decision: COMPLETE, message: I see it., summary: Seen., reason: It is a trial.}
`

// aPicture writes an image file into a directory, and returns its contents.
func aPicture(t *testing.T, dir, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	testkit.OK(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 64, 48))))
	testkit.OK(t, os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600))
	return b.Bytes()
}

// TestAnImageReachesTheModel: the model receives an image even if arbiter is killed once it has accepted the
// message, and the file is gone when the run is resumed. A message with a file that cannot be read is rejected.
func TestAnImageReachesTheModel(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	eachPlayerLong(t, func(t *testing.T, p player) {
		work := t.TempDir()
		picture := aPicture(t, work, "loom.png")
		s, model := hiredIn(t, p, seeing, work)
		s.sendAs("p", contract.Pause{})
		s.sendAs("no", contract.Say{Text: "Look.", Images: []string{"loom.txt"}})
		r := await(s, "the refusal", func(_ string, r contract.Rejected) bool { return r.Ref == "no" })
		if !strings.Contains(r.Message, filepath.Join(work, "loom.txt")+": it cannot be read: no such file") {
			t.Errorf("rejected: %s", r.Message)
		}
		s.sendAs("look", contract.Say{Text: "What is this?", Images: []string{"loom.png"}})
		await(s, "the answer", func(_ string, a contract.Accepted) bool { return a.Ref == "look" })
		message := await(s, "the message", func(_ string, m contract.Message) bool { return m.Text == "What is this?" })
		if len(message.Images) != 1 || message.Images[0].Size() != "64×48 png" || message.Images[0].Bytes != len(picture) {
			t.Errorf("said %+v", message.Images)
		}
		testkit.OK(t, syscall.Kill(s.cmd.Process.Pid, syscall.SIGKILL))
		s.gone()
		testkit.OK(t, os.Remove(filepath.Join(work, "loom.png")))
		if !p.real { // exported runs contain their images
			archive := filepath.Join(t.TempDir(), "run.tar.gz")
			s.output(0, "sessions", "export", s.run(), "--output", archive)
			there := s.elsewhere(work)
			there.output(0, "sessions", "import", archive)
			out, _ := there.output(0, "sessions", "show", "--json", s.run())
			var shown struct{ Log string }
			testkit.OK(t, json.Unmarshal([]byte(out), &shown))
			got, err := os.ReadFile(filepath.Join(filepath.Dir(shown.Log), runstore.ImagesDir, message.Images[0].SHA256))
			if err != nil || !bytes.Equal(got, picture) {
				t.Errorf("the imported image: %v, %d bytes", err, len(got))
			}
		}
		next := s.again(append([]string{"--resume"}, s.cmd.Args[1:]...)...)
		next.send(contract.Continue{})
		next.completes()
		requests := model.Requests()
		body := string(requests[len(requests)-1].Body)
		if strings.Count(body, base64.StdEncoding.EncodeToString(picture)) != 1 ||
			!strings.Contains(body, `"media_type":"image/png"`) || !strings.Contains(body, "64×48 png, "+work) {
			t.Errorf("the request has no image:\n%.6000s", body)
		}
	})
}

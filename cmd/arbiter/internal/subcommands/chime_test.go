package subcommands

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/tui"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestWaves: each sound is a different WAV file, short, not too loud, and silent at its end.
func TestWaves(t *testing.T) {
	seen := map[string]bool{}
	for cue, notes := range cues {
		w := wave(notes)
		samples := make([]int16, (len(w)-44)/2)
		testkit.OK(t, binary.Read(bytes.NewReader(w[44:]), binary.LittleEndian, samples))
		testkit.Check(t, string(w[:4]) == "RIFF" && string(w[8:16]) == "WAVEfmt " && string(w[36:40]) == "data" &&
			int(binary.LittleEndian.Uint32(w[4:8])) == len(w)-8 && len(w) <= 80_000 && !seen[string(w)],
			"cue %d is not a WAV file of its own: %d bytes", cue, len(w))
		seen[string(w)] = true
		loudest := int16(0)
		for _, s := range samples {
			loudest = max(loudest, s, -s)
		}
		if last := samples[len(samples)-1]; loudest < 4000 || loudest > 9000 || last > 60 || last < -60 {
			t.Errorf("cue %d: the loudest sample is %d, the last %d", cue, loudest, last)
		}
	}
}

// TestChime: the player gets a file that is removed afterwards; cues that come too fast are dropped, and Play never
// blocks.
func TestChime(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	files := make(chan string)
	c := NewChime(func(ctx context.Context, file string) error {
		files <- file
		<-ctx.Done()
		return ctx.Err()
	})
	for range 100 {
		c.Play(tui.SoundAsked)
	}
	file := <-files
	c.Play(tui.SoundAsked) // waits when the chime is closed, and is not played
	raw, err := os.ReadFile(file)
	info, _ := os.Stat(file)
	testkit.Check(t, err == nil && string(raw) == string(wave(cues[tui.SoundAsked])) && info.Mode().Perm() == 0o600,
		"%d bytes, %v", len(raw), err)
	c.Close()
	c.Play(tui.SoundDone)
	c.Close()
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	testkit.Check(t, len(left) == 0, "left: %v", left)
}

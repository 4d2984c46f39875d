package contract

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestReadCommands(t *testing.T) {
	long := `{"type":"message","text":"` + strings.Repeat("x", 200) + `"}`
	exact := `{"type":"message","text":"` + strings.Repeat("x", 100-28) + `"}`
	tests := []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"blank lines", "\n \r\n\t\n\n", nil},
		{"two", `{"type":"pause"}` + "\n" + `{"type":"cancel"}` + "\n", []string{"pause", "cancel"}},
		{"no newline at the end", `{"type":"pause"}` + "\n" + `{"type":"cancel"}`, []string{"pause", "cancel"}},
		{"CRLF", "{\"type\":\"pause\"}\r\n{\"type\":\"cancel\"}\r\n", []string{"pause", "cancel"}},
		{"BOM", "\xef\xbb\xbf{\"type\":\"pause\"}\n", []string{"pause"}},
		{"only a BOM", "\xef\xbb\xbf", nil},
		{"BOM later", "{\"type\":\"pause\"}\n\xef\xbb\xbf{\"type\":\"pause\"}\n",
			[]string{"pause", "malformed line 2: not valid JSON"}},
		{"garbage between", `{"type":"pause"}` + "\nhello\n" + `{"type":"cancel"}` + "\n",
			[]string{"pause", "malformed line 2: not valid JSON", "cancel"}},
		{"NUL", "{\"type\":\"pause\"}\x00\n{\"type\":\"cancel\"}\n\x00\x00\n",
			[]string{"malformed line 1: not valid JSON", "cancel", "malformed line 3: not valid JSON"}},
		{"as long as allowed", exact + "\r\n" + `{"type":"cancel"}`, []string{"message", "cancel"}},
		{"one byte too long", exact + " \n" + `{"type":"cancel"}`,
			[]string{"malformed line 1: the line is longer than 100 bytes", "cancel"}},
		{"too long", long + "\n" + `{"type":"cancel"}` + "\n",
			[]string{"malformed line 1: the line is longer than 100 bytes", "cancel"}},
		{"too long at the end", `{"type":"cancel"}` + "\n" + long,
			[]string{"cancel", "malformed line 2: the line is longer than 100 bytes"}},
		{"endless carriage returns", strings.Repeat("\r", 300_000) + "\n" + `{"type":"cancel"}`,
			[]string{"malformed line 1: the line is longer than 100 bytes", "cancel"}},
		{"longer than the buffer", strings.Repeat("x", 300_000) + "\n" + `{"type":"cancel"}`,
			[]string{"malformed line 1: the line is longer than 100 bytes", "cancel"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in)),
				iotest.DataErrReader(strings.NewReader(tt.in))} {
				var got []string
				if err := ReadCommands(r, 100,
					func(c Command) bool { got = append(got, word(c)); return true }); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%T: commands (-want +got):\n%s", r, diff)
				}
			}
		})
	}
}

// word is a command's type, or the line and the first words of its problem.
func word(c Command) string {
	m, ok := c.Body.(Malformed)
	if !ok {
		return c.Body.CommandType()
	}
	line, rest, _ := strings.Cut(m.Problem, ": ")
	problem, _, _ := strings.Cut(rest, ": ")
	return "malformed " + line + ": " + problem
}

func TestReadCommandsStops(t *testing.T) {
	r := strings.NewReader("{\"type\":\"pause\"}\n{\"type\":\"cancel\"}\n")
	n := 0
	if err := ReadCommands(r, 0, func(Command) bool { n++; return false }); err != nil || n != 1 {
		t.Errorf("%d commands, error %v; want 1 and none", n, err)
	}
}

// brokenReader fails, and counts how often it was asked.
type brokenReader struct {
	err   error
	reads int
}

func (b *brokenReader) Read([]byte) (int, error) { b.reads++; return 0, b.err }

func TestReadCommandsReportsFailure(t *testing.T) {
	broken := &brokenReader{err: errors.New("broken pipe")}
	var got []string
	err := ReadCommands(io.MultiReader(strings.NewReader("{\"type\":\"pause\"}\n{\"type\":\"can"), broken), 0,
		func(c Command) bool { got = append(got, word(c)); return true })
	if !errors.Is(err, broken.err) || broken.reads != 1 {
		t.Errorf("error %v after %d reads, want %v after 1", err, broken.reads, broken.err)
	}
	if diff := cmp.Diff([]string{"pause"}, got); diff != "" {
		t.Errorf("a torn line is not a command (-want +got):\n%s", diff)
	}
}

// TestReadCommandsIsBounded reads a line of 64 MiB with the default bound.
func TestReadCommandsIsBounded(t *testing.T) {
	r := io.MultiReader(io.LimitReader(endless{}, 64<<20), strings.NewReader("\n{\"type\":\"cancel\"}\n"))
	var got []string
	if err := ReadCommands(r, 0, func(c Command) bool { got = append(got, word(c)); return true }); err != nil {
		t.Fatal(err)
	}
	want := []string{fmt.Sprintf("malformed line 1: the line is longer than %d bytes", DefaultMaxLine), "cancel"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("x"), len(p))), nil }

package transcript

import (
	"bufio"
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// corpus calls f with every recorded transcript (by CLI 2.1.329; the live tests of this package made them).
func corpus(t testing.TB, f func(path string)) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(filepath.Join("testdata", "corpus"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == extension {
			n++
			f(path)
		}
		return err
	})
	if err != nil || n < 3 {
		t.Fatalf("%d transcripts, %v", n, err)
	}
}

func corpusLines(t testing.TB) [][]byte {
	t.Helper()
	var lines [][]byte
	corpus(t, func(path string) {
		f := testkit.Must(os.Open(path))(t)
		defer f.Close()
		s := bufio.NewScanner(f)
		s.Buffer(nil, 1<<20)
		for s.Scan() {
			lines = append(lines, slices.Clone(s.Bytes()))
		}
		if s.Err() != nil {
			t.Fatal(s.Err())
		}
	})
	return lines
}

// beside are types of records that are known not to be part of the conversation.
var beside = map[string]bool{
	"queue-operation": true, "cost-state": true, "last-prompt": true, "mode": true, "permission-mode": true,
	"atis-latch": true, "tools-used": true, "custom-title": true, "agent-name": true, "ai-title": true, "summary": true,
	"file-history-snapshot": true, "api-request": true, "api-request-shape": true, "api-request-blob": true,
	"pr-link": true, "fork-pointer": true, "progress": true,
}

// The decoder knows every type of record that the real CLI writes.
func TestCorpus(t *testing.T) {
	unknown, kinds := map[string]int{}, map[string]int{}
	for _, line := range corpusLines(t) {
		records, whole := Decode(line)
		if !whole || len(records) != 1 {
			t.Errorf("whole %v, %d records: %.200s", whole, len(records), line)
			continue
		}
		if err := json.Unmarshal(line, &wireRecord{}); err != nil {
			t.Errorf("%v: %.200s", err, line)
		}
		switch r := records[0].(type) {
		case *Other:
			if !beside[r.Type] {
				unknown[r.Type]++
			}
		case *System:
			kinds[r.Subtype]++
		case *User:
			if r.CompactSummary {
				kinds["compact summary"]++
			}
			if len(r.Message.Blocks()) == 0 {
				t.Errorf("user's message: %+v", r.Message)
			}
		case *Assistant:
			if r.Message.ID == "" || r.Message.StopReason == "" || len(r.Message.Blocks()) != 1 {
				t.Errorf("assistant's message: %+v", r.Message)
			}
		}
		kinds[records[0].Head().Type]++
	}
	if got := slices.Sorted(maps.Keys(unknown)); len(got) > 0 {
		t.Errorf("types that are not known: %q", got)
	}
	var seldom []string
	for _, want := range []string{"user", "assistant", "attachment", "compact_boundary", "compact summary",
		"queue-operation", "cost-state", "last-prompt", "api-request", "api-request-shape", "api-request-blob",
		"tools-used", "atis-latch", "mode"} {
		if kinds[want] == 0 {
			seldom = append(seldom, want)
		}
	}
	if len(seldom) > 0 {
		t.Errorf("the corpus lacks %q", seldom)
	}
}

// Each recorded session has a newest reading; the transcripts of subagents have none.
func TestCorpusReadings(t *testing.T) {
	got := map[string]int{}
	corpus(t, func(path string) {
		if strings.Contains(path, "subagents") {
			newest, err := ReadNewest(path)
			if err != nil || newest.Found || newest.Compacted || newest.GaveUp {
				t.Errorf("%s: a subagent's: %+v, %v", path, newest, err)
			}
			return
		}
		newest := testkit.Must(ReadNewest(path))(t)
		if newest.Sample.Model != "claude-opus-5-5" {
			t.Errorf("%s: %+v", path, newest)
		}
		got[filepath.Base(filepath.Dir(path))] = newest.Sample.Usage.Context()
	})
	testkit.Same(t, "", map[string]int{"work": 80000, "compaction": 31000}, got)
}

func TestCorpusDigest(t *testing.T) {
	path, err := filepath.Glob(filepath.Join("testdata", "corpus", "work", "*"+extension))
	if err != nil || len(path) != 1 {
		t.Fatal(path, err)
	}
	d := testkit.Must(ReadDigest(context.Background(), path[0], DigestLimits{Texts: 2, Commands: 3, TextBytes: 20}))(t)
	for i := range d.Commands {
		d.Commands[i].Timestamp = ""
	}
	want := Digest{Texts: []string{"It was stopped.", "I am back."}, Files: []string{"/w/one.txt", "/w/two.txt"},
		Commands: []Command{{Command: "echo $$ > up; for…", Outcome: OutcomeFailed},
			{Command: "test -e again || …", Outcome: OutcomeUnknown},
			{Command: "test -e again || …", Outcome: OutcomeDone}}}
	testkit.Same(t, "", want, d)
}

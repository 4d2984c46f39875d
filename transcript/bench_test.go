package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// typical returns about a megabyte of transcript, with the sizes and proportions of lines that CLI 2.1.329
// writes: many lines of 1 to 15 kB, some of 40 to 200 kB, few longer ones. The text in them is source code, as
// in most real transcripts.
func typical(b *testing.B) [][]byte {
	b.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil || len(names) == 0 {
		b.Fatal(names, err)
	}
	var code strings.Builder
	for _, name := range names {
		data := testkit.Must(os.ReadFile(name))(b)
		code.Write(data)
	}
	for code.Len() < 1<<20 {
		code.WriteString(code.String())
	}
	at := 0
	words := func(n int) string { // the next n bytes of the code
		at = (at + n) % (code.Len() - 512<<10)
		return code.String()[at : at+n]
	}
	var lines [][]byte
	n := 0
	add := func(fields string) {
		n++
		tail := fmt.Sprintf(`,"uuid":"00000000-0000-4000-8000-%012d","timestamp":"2026-11-21T06:%02d:%02d.000Z","userType":"external","entrypoint":"sdk-cli","cwd":"/work","sessionId":"%s","version":"2.1.329","gitBranch":"HEAD"}`,
			n, n/60%60, n%60, session)
		lines = append(lines,
			[]byte(fmt.Sprintf(`{"parentUuid":"00000000-0000-4000-8000-%012d","isSidechain":false,`, n-1)+fields+tail))
	}
	aside := func(kind string, size int) {
		lines = append(lines,
			[]byte(`{"type":"`+kind+`","sessionId":"`+session+
				`","timestamp":"2026-11-21T06:00:00.000Z","version":"2.1.329","shape":{"tools":[{"description":`+
				quoted(words(size))+`}]}}`))
	}
	for turn := range 30 {
		add(`"attachment":{"type":"environment","text":` + quoted(words(700)) + `},"type":"attachment"`)
		if turn%10 == 0 {
			aside("api-request-blob", 126<<10)
			aside("api-request-shape", 37<<10)
			add(`"attachment":{"type":"prompt_snapshot","sections":[` + quoted(words(40<<10)) + `,` +
				quoted(words(14<<10)) + `]},"type":"attachment"`)
		}
		for call := range 3 {
			id := fmt.Sprintf("toolu_%d_%d", turn, call)
			aside("api-request", 900)
			add(fmt.Sprintf(`"message":{"id":"msg_%d_%d","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{"type":"tool_use","id":"%s","name":"Edit","input":{"file_path":"/w/x.go","new_string":%s}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":3,"cache_creation_input_tokens":10,"cache_read_input_tokens":%d,"output_tokens":9,"output_tokens_details":{"thinking_tokens":0},"server_tool_use":{"web_search_requests":0,"web_fetch_requests":0},"service_tier":"standard","cache_creation":{"ephemeral_1h_input_tokens":0,"ephemeral_5m_input_tokens":0}},"stop_details":null},"requestedModel":"claude-opus-5-5","type":"assistant"`,
				turn, call, id, quoted(words(1500)), 1000*turn+call))
			result := quoted(words(2500 + 1500*call))
			add(`"promptId":"p","type":"user","message":{"role":"user","content":[{"tool_use_id":"` + id +
				`","type":"tool_result","content":` + result + `}]},"toolUseResult":{"stdout":` + result +
				`,"stderr":"","interrupted":false}`)
		}
	}
	return lines
}

func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // as the CLI writes
	if e.Encode(s) != nil {
		return `""`
	}
	return strings.TrimSpace(b.String())
}

// BenchmarkNewest finds the newest reading of a transcript. x-read-all is how many times as long it takes, in
// the same run, to read the whole file, split it into lines and walk back.
func BenchmarkNewest(b *testing.B) {
	lines := typical(b)
	for _, size := range []int64{1, 10, 100, 500} {
		b.Run(fmt.Sprintf("%dMB", size), func(b *testing.B) {
			if size > 100 && testing.Short() {
				b.Skip("-short")
			}
			path := filepath.Join(b.TempDir(), session+extension)
			wantSize := fill(b, path, lines, size<<20)
			begun := time.Now()
			want := naiveNewest(b, path)
			naive := time.Since(begun)
			b.ReportAllocs()
			for b.Loop() {
				got, err := ReadNewest(path)
				if err != nil || got.Sample.Usage.Context() != want || got.Looked > wantSize {
					b.Fatalf("%+v, %v; want %d", got, err, want)
				}
			}
			b.ReportMetric(float64(naive)*float64(b.N)/float64(b.Elapsed()), "x-read-all")
			b.ReportMetric(float64(naive.Microseconds())/1000, "read-all-ms")
		})
	}
}

func fill(b *testing.B, path string, lines [][]byte, size int64) (n int64) {
	b.Helper()
	f := testkit.Must(os.Create(path))(b)
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	for n < size {
		for _, line := range lines {
			w.Write(line) // Flush reports the error
			w.WriteByte('\n')
			n += int64(len(line)) + 1
		}
	}
	testkit.OK(b, w.Flush())
	return n
}

func naiveNewest(b *testing.B, path string) int {
	b.Helper()
	data := testkit.Must(os.ReadFile(path))(b)
	lines := bytes.Split(data, []byte("\n"))
	for i := len(lines) - 1; i >= 0; i-- {
		var r wireRecord
		if json.Unmarshal(lines[i], &r) == nil && r.Type == "assistant" && r.Message.Usage.Output > 0 {
			u := r.Message.Usage
			return u.Input + u.CacheRead + u.CacheCreation
		}
	}
	b.Fatal("no reading")
	return 0
}

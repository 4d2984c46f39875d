package decider

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCut(t *testing.T) {
	filler := strings.Repeat("Looked at this and that. ", 40)
	for _, c := range []struct {
		name, text string
		most       int
		want       string
	}{
		{"short", "  all of it \n", 20, "all of it"},
		{"exactly", "12345", 5, "12345"},
		{"exactly, in runes", "äöüßé", 5, "äöüßé"},
		{"at a word's end", "one two three four five six", 20, "one two three four…"},
		{"no words", strings.Repeat("x", 30), 10, "xxxxxxxxx…"},
		{"a mark stays with its letter", "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301", 8, "e\u0301e\u0301e\u0301…"},
		{"what is joined stays so", "ab👩\u200d👩\u200d👧cd", 6, "ab…"},
		{"not UTF-8", "a\xff\xfeb", 10, "a\uFFFDb"},
		{"nothing", "text", 0, ""},
		{"room for the mark", "text", 1, "…"},
		{"an error at the end", filler + "\nerror: no such file\n", 60,
			"Looked at this and that. Looked at this…\nerror: no such file"},
		{"an error in the midst of a paragraph", filler + "The build failed. " + filler, 60,
			"Looked at this and that. Looked at this…\nThe build failed."},
		{"files before steps", filler + "\nStep 2 is there\nModified a/b.go\nStep 3 is not\n", 60,
			"Looked at this and that. Looked at this and…\nModified a/b.go"},
		{"in their order", filler + "\nCreated x.go\nnothing\npanic: y\n", 80,
			"Looked at this and that. Looked at this and that. Looked…\nCreated x.go\npanic: y"},
		{"the last errors", filler + "\nerror one\nerror two\nerror six\n", 60,
			"Looked at this and that. Looked at this…\nerror two\nerror six"},
		{"the same once", filler + "\nerror one\nerror one\n", 60,
			"Looked at this and that. Looked at this and that.…\nerror one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Cut(c.text, c.most); got != c.want {
				t.Errorf("cut to %d: %q, want %q", c.most, got, c.want)
			}
		})
	}
}

func TestCutFindsTheWordInALongLine(t *testing.T) {
	text := strings.Repeat("a,", 3000) + `"error":"disk full"` + strings.Repeat(",b", 3000)
	if got := Cut(text, SummaryRunes); !strings.Contains(got, "disk full") {
		t.Errorf("the error is lost: %q", got)
	}
	text = strings.Repeat("line\n", 100_000) + "fatal: the end\n"
	if got := Cut(text, SummaryRunes); !strings.HasSuffix(got, "\nfatal: the end") {
		t.Errorf("the error at the end of a long text is lost: %q", got)
	}
}

func FuzzCut(f *testing.F) {
	f.Add("one two three", 5)
	f.Add("e\u0301\u200d🇩🇪🇫🇷 error: \xff\xfe", 7)
	f.Add(strings.Repeat("Modified a.go. failed İİİİİİ step ", 30), 40)
	f.Fuzz(func(t *testing.T, s string, most int) {
		most = max(min(most, 5000), -5)
		got := Cut(s, most)
		if !utf8.ValidString(got) {
			t.Errorf("cut to %d, %q is not UTF-8: %q", most, s, got)
		}
		if n := utf8.RuneCountInString(got); n > max(most, 0) {
			t.Errorf("cut to %d, %q has %d runes: %q", most, s, n, got)
		}
		if again := Cut(got, most); again != got {
			t.Errorf("cut to %d twice: %q, then %q", most, got, again)
		}
		if short := strings.TrimSpace(s); utf8.ValidString(s) && utf8.RuneCountInString(short) <= most && got != short {
			t.Errorf("cut to %d, %q became %q", most, s, got)
		}
	})
}

package transcript

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func reading(id string, tokens int) Sample {
	return Sample{MessageID: id, Model: "opus",
		Usage: Usage{Input: 3, CacheRead: tokens - 5, CacheCreation: 2, Output: 1000}}
}

func TestMeterReadings(t *testing.T) {
	side := reading("s", 900)
	side.Sidechain = true
	own := reading("x", 900)
	own.Model = synthetic
	for _, test := range []struct {
		name    string
		samples []Sample
		fresh   string // which of them were new readings
		tokens  int
	}{
		{"none", nil, "", 0},
		{"output does not count", []Sample{reading("a", 100)}, "+", 100},
		{"one per message", []Sample{reading("a", 100), reading("a", 100), reading("b", 200), reading("b", 250)},
			"+-+-", 200},
		{"a source that lags behind",
			[]Sample{reading("a", 100), reading("b", 200), reading("a", 100), reading("b", 200), reading("c", 300)},
			"++--+", 300},
		{"no id", []Sample{reading("", 100), reading("", 120)}, "++", 120},
		{"a subagent's", []Sample{reading("a", 100), side}, "+-", 100},
		{"the CLI's own", []Sample{reading("a", 100), own}, "+-", 100},
		{"nothing used",
			[]Sample{reading("a", 100), {MessageID: "z", Model: "opus"},
				{MessageID: "y", Model: "opus", Usage: Usage{Output: 9}}}, "+--", 100},
		{"below nothing", []Sample{reading("a", 100), {MessageID: "z", Usage: Usage{Input: -5, CacheRead: 50}}}, "+-",
			100},
		{"beyond all windows",
			[]Sample{reading("a", 100), {MessageID: "z", Usage: Usage{Input: math.MaxInt, CacheRead: math.MaxInt}}},
			"+-", 100},
		{"shrunk", []Sample{reading("a", 300), reading("b", 200)}, "++", 200},
	} {
		var m Meter
		fresh := ""
		for _, s := range test.samples {
			fresh += map[bool]string{true: "+", false: "-"}[m.Sample(s)]
		}
		if fresh != test.fresh || m.Tokens() != test.tokens {
			t.Errorf("%s: %s at %d, want %s at %d", test.name, fresh, m.Tokens(), test.fresh, test.tokens)
		}
	}
}

func TestMeterCompaction(t *testing.T) {
	var m Meter
	m.Sample(reading("a", 180000))
	m.TurnEnded()
	m.Compacted("")
	if m.Sample(reading("a", 180000)) || m.Tokens() != 0 {
		t.Errorf("after a compaction: %d", m.Tokens())
	}
	m.TurnEnded()
	if !m.Sample(reading("b", 30000)) || m.Tokens() != 30000 {
		t.Errorf("read after a compaction: %d", m.Tokens())
	}
}

func TestTurnsLeft(t *testing.T) {
	for _, test := range []struct {
		name  string
		turns string // readings; | ends a turn, C compacts
		limit int
		want  int
	}{
		{"nothing", "", 1000, 0},
		{"one turn", "100 |", 1000, 0},
		{"two turns", "100 | 200 |", 1000, 8},
		{"several readings a turn", "50 100 | 120 150 200 |", 1000, 8},
		{"rounded down", "100 | 400 |", 999, 1},
		{"not even one", "100 | 400 |", 600, 0},
		{"in a turn", "100 | 200 | 900", 1000, 1},
		{"full", "100 | 200 | 1000", 1000, 0},
		{"beyond", "100 | 200 | 1500", 1000, 0},
		{"no growth", "100 | 100 |", 1000, 0},
		{"shrinkage says nothing", "100 | 300 | 150 | 350 |", 1000, 3},
		{"turns without a reading say nothing", "100 | | | 200 | |", 1000, 8},
		{"the mean", "100 | 200 | 500 |", 1000, 2},
		{"the last turns only", "1 | 901 | 902 | 903 | 904 | 905 | 906 | 907 | 908 |", 1000, 92},
		{"from the compaction on", "100 | 800 | C 50 | 60 |", 100, 4},
		{"right after a compaction", "100 | 200 | C", 1000, 0},
		{"no limit", "100 | 200 |", 0, 0},
	} {
		var m Meter
		for i, word := range strings.Fields(test.turns) {
			switch word {
			case "|":
				m.TurnEnded()
			case "C":
				m.Compacted("")
			default:
				var n int
				if _, err := fmt.Sscan(word, &n); err != nil {
					t.Fatal(err)
				}
				m.Sample(Sample{MessageID: fmt.Sprint(i), Usage: Usage{Input: n}})
			}
		}
		if got := m.TurnsLeft(test.limit); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestWindow(t *testing.T) {
	for _, test := range []struct {
		window Window
		want   int
	}{
		{Window{}, 0}, {Window{Model: 1_000_000}, 1_000_000},
		{Window{Model: 1_000_000, Compaction: 967_000, Cap: 300_000}, 300_000},
		{Window{Model: 200_000, Compaction: 167_000, Cap: 300_000}, 167_000}, {Window{Cap: 5}, 5},
		{Window{Model: -1, Compaction: 7}, 7},
	} {
		if got := test.window.Effective(); got != test.want {
			t.Errorf("%+v: %d, want %d", test.window, got, test.want)
		}
	}
	for _, test := range []struct {
		tokens, window int
		want           float64
	}{{0, 100, 0}, {70, 100, 70}, {150, 100, 150}, {5, 0, 0}, {-5, 100, 0}} {
		if got := Percent(test.tokens, test.window); got != test.want {
			t.Errorf("%d of %d: %v, want %v", test.tokens, test.window, got, test.want)
		}
	}
}

// Readings stay known for a while, so that a source that lags behind adds no new readings.
func TestMeterForgets(t *testing.T) {
	var m Meter
	for i := range 3 * maxRecent {
		m.Sample(reading(fmt.Sprint(i), i+1))
	}
	if !m.Compacted("c") || m.Compacted("c") {
		t.Error("a compaction counts once")
	}
	if _, ok := m.Known("0"); ok || len(m.recent) != maxRecent {
		t.Errorf("it holds %d", len(m.recent))
	}
	if v, ok := m.Known(fmt.Sprint(3*maxRecent - 1)); !ok || v != 3*maxRecent {
		t.Error("it forgot the last one")
	}
}

// FuzzMeter: with any input, no figure is negative, samples that do not count change nothing, and a message is
// read once.
func FuzzMeter(f *testing.F) {
	f.Add([]byte("\x00\x01\x10\x02\x03\x40\x01\x02\xff"))
	f.Add([]byte{0, 1, 50, 5, 0, 0, 0, 2, 90, 5, 0, 0, 1, 3, 200, 4, 0, 0, 2, 4, 7})
	f.Fuzz(func(t *testing.T, program []byte) {
		var m Meter
		for ; len(program) >= 3; program = program[3:] {
			op, id, n := program[0], program[1], int(program[2])
			s := Sample{MessageID: fmt.Sprint(id % 16), Model: "opus",
				Usage: Usage{Input: n, CacheRead: n * 1000, CacheCreation: int(id)}}
			before := m
			switch op % 8 {
			case 0, 1:
				fresh := m.Sample(s)
				if fresh && m.Tokens() != s.Usage.Context() || !fresh && m.Tokens() != before.Tokens() {
					t.Fatalf("%+v, fresh %v: %d after %d", s, fresh, m.Tokens(), before.Tokens())
				}
				if m.Sample(s) {
					t.Fatalf("%+v was read twice", s)
				}
			case 2:
				s.Sidechain = true
			case 3:
				s.Model = synthetic
			case 4:
				s.Usage = Usage{Output: n}
			case 5:
				m.TurnEnded()
			case 6:
				m.Compacted("")
			case 7:
				s.Usage = Usage{Input: -1 - n, CacheRead: math.MaxInt - n}
			}
			if k := op % 8; k == 2 || k == 3 || k == 4 || k == 7 {
				if m.Sample(s) || m.Tokens() != before.Tokens() {
					t.Fatalf("%+v counted: %d after %d", s, m.Tokens(), before.Tokens())
				}
			}
			limit := n * 1000
			if left := m.TurnsLeft(limit); m.Tokens() < 0 || left < 0 || left > limit || len(m.marks) > maxMarks ||
				len(m.recent) > maxRecent {
				t.Fatalf("%+v: %d turns left of %d", m, left, limit)
			}
		}
	})
}

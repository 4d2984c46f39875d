package history

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// Live is text that is arriving.
type Live struct {
	Agent string
	Text  string // prose, or what has arrived of the message of a verdict; of a long text, the end
	Began time.Time
}

// arriving is the text of one agent that is arriving, as it came: it is made fit for a screen when it is read, since a
// control sequence may be spread over several pieces. No sequence extends over a line end.
type arriving struct {
	began   time.Time
	prose   []byte // its end
	verdict []byte // JSON; nil: none
}

// liveKept bounds text that is arriving: of a longer text, the end is kept.
const liveKept = 256 << 10

// liveTexts are the texts that are arriving.
type liveTexts struct {
	mu      sync.Mutex
	byAgent map[string]*arriving
}

// end returns the text of an agent, at most about most bytes of it: its end.
func (l *liveTexts) end(agent string, most int) (Live, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, ok := l.byAgent[agent]
	if !ok {
		return Live{}, false
	}
	text := a.prose
	if a.verdict != nil {
		text = partialMessage(a.verdict)
	}
	return Live{Agent: agent, Text: lastPart(text, most), Began: a.began}, true
}

// messages returns the messages of agents that are arriving, in their verdicts.
func (l *liveTexts) messages(agents []string) (list []Live) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range agents {
		if a, ok := l.byAgent[id]; ok && a.verdict != nil {
			if text := lastPart(partialMessage(a.verdict), math.MaxInt); text != "" {
				list = append(list, Live{Agent: id, Text: text, Began: a.began})
			}
		}
	}
	return list
}

// lastPart returns about so many bytes of the end of a text, fit for a screen, in whole lines if there are any.
func lastPart(text []byte, most int) string {
	text = text[:whole(text)]
	drop := len(text) - most
	if drop <= 0 {
		return sanitize.Text(string(text))
	}
	if i := bytes.IndexByte(text[drop:], '\n'); i >= 0 && drop+i < len(text)-1 {
		return sanitize.Text(string(text[drop+i+1:]))
	}
	line := sanitize.Text(string(text[bytes.LastIndexByte(text[:drop], '\n')+1:]))
	for drop = max(len(line)-most, 0); drop < len(line) && !utf8.RuneStart(line[drop]); {
		drop++
	}
	return line[drop:]
}

func (l *liveTexts) delta(at time.Time, agent string, d contract.Delta) {
	if d.Text == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a, ok := l.byAgent[agent]
	if !ok {
		if len(l.byAgent) >= maxAgents {
			return
		}
		if l.byAgent == nil {
			l.byAgent = make(map[string]*arriving)
		}
		a = &arriving{began: at}
		l.byAgent[agent] = a
	}
	switch {
	case !d.Verdict:
		a.prose = append(a.prose, d.Text...)
		if n := len(a.prose); n > 2*liveKept { // drop a large part at once: the beginning should not change all the time
			drop := n - liveKept
			if i := bytes.IndexByte(a.prose[drop:], '\n'); i >= 0 && i < 4<<10 {
				drop += i + 1
			}
			a.prose = append([]byte(nil), a.prose[drop:]...)
		}
	case len(a.verdict) == 0, strings.HasPrefix(strings.TrimLeft(d.Text, " \t\r\n"), "{") && !open(a.verdict):
		a.verdict = []byte(d.Text) // this one may be better than the previous one
	case len(a.verdict) < 8*liveKept:
		a.verdict = append(a.verdict, d.Text...)
	}
}

// endTexts ends the texts that an event contains, or whose end it shows.
func (l *liveTexts) endTexts(e contract.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.byAgent[e.ID]
	switch b := e.Body.(type) {
	case contract.Assistant:
		if a != nil && b.Subagent == "" { // only text of the main thread is shown as it arrives
			a.prose = nil
		}
	case contract.Message:
		if a != nil && a.verdict != nil && b.From == e.ID {
			if message := lastPart(partialMessage(a.verdict), liveKept); message != "" &&
				strings.HasPrefix(b.Text, strings.TrimSpace(message)) {
				a.verdict = nil
			}
		}
	case contract.Turn, contract.Done, contract.Spawn, contract.Restart:
		delete(l.byAgent, e.ID)
	case contract.Session, contract.Result:
		clear(l.byAgent)
	}
	if a != nil && a.verdict == nil && len(a.prose) == 0 {
		delete(l.byAgent, e.ID)
	}
}

// whole returns the length of b without an incomplete rune at its end.
func whole(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return len(b) - n
			}
			break
		}
	}
	return len(b)
}

// open reports whether a JSON object has begun and not ended.
func open(raw []byte) bool {
	var any json.RawMessage
	err := json.NewDecoder(bytes.NewReader(raw)).Decode(&any)
	return err == io.ErrUnexpectedEOF && bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{"))
}

// partialMessage returns the top-level string member "message" of a JSON object that is still arriving, as far as it
// has arrived: escapes are decoded, and an incomplete one is left out. If there are several, the last one counts.
func partialMessage(raw []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	message := ""
	for {
		key, err := d.Token()
		if name, ok := key.(string); err != nil || !ok {
			return []byte(message)
		} else if name == "message" {
			message = ""
			rest := bytes.TrimLeft(raw[d.InputOffset():], ": \t\r\n")
			if len(rest) > 0 && rest[0] == '"' {
				message = PartialString(rest)
			}
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return []byte(message)
		}
	}
}

// PartialString decodes a JSON string that may not have an end: an incomplete character at its end is left out.
func PartialString(quoted []byte) (text string) {
	if json.NewDecoder(bytes.NewReader(quoted)).Decode(&text) == nil {
		return text
	}
	quoted = quoted[:whole(quoted)]
	for cut := range min(len(quoted), len(`\ud83d\ude00`)) {
		part := quoted[:len(quoted)-cut]
		if json.Unmarshal(append(slices.Clip(part), '"'), &text) == nil && // and it does not end in half a character
			!(strings.HasSuffix(text, "\ufffd") && bytes.HasPrefix(part[max(len(part)-6, 0):], []byte(`\u`))) {
			return text
		}
	}
	return string(quoted[1:])
}

package render

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxPaste bounds what is kept of one paste while it arrives; a longer paste is refused as a whole.
const maxPaste = 64 << 20

// maxSequence bounds a key or a reply of the terminal. A longer one is dropped.
const maxSequence = 4 << 10

// How long the rest of something that has begun may take. A terminal sends a key or a reply at once; people take longer
// between two keys.
const (
	restOfKey   = 50 * time.Millisecond
	restOfReply = 250 * time.Millisecond
	restOfPaste = time.Second
)

// pasted replaces a pasted text for tcell, which does not report empty pastes.
const pasted = "\x1b[200~.\x1b[201~"

// pasteEnds is what a terminal sends after a pasted text.
const pasteEnds = "\x1b[201~"

// mostAlike is how many equal steps of the wheel, or pages, are passed on from what arrived at once: while a program is
// busy, hundreds gather, and each would be drawn.
const mostAlike = 6

// decoder reads the bytes of a terminal before tcell does, and passes on only what tcell reads well: characters, and
// whole keys. tcell (v2.13.10) waits for ever for the end of a reply or a key that never ends ("ESC ]" is also Alt+]),
// and takes every later key for its content. Here each has a time limit, a control character ends it, and so the key
// that halts a run is always received.
//
// A pasted text is taken out, too: tcell looks for keys in it. "ESC [ 201 ; 1 ~" would end it, and the text behind that
// would count as typed. Here only the exact bytes end a paste, and nothing else in it has a meaning. It is faster, too.
// A terminal without bracketed paste types the text: several lines that arrive at once count as pasted, so that none is
// sent before a person presses Enter.
//
// Bytes that are no UTF-8 are dropped: they would have tcell loop for ever.
//
// One goroutine calls it, except take and listen.
type decoder struct {
	bytes bool // the terminal's character set is not UTF-8

	state decoding
	seq   []byte    // of a key or a reply that is not complete
	last  time.Time // when the last byte of it, or of a paste, arrived
	out   []byte    // for tcell
	alike int       // how often the sequence at the end of out came, one after the other
	prior string    // that sequence
	inner []byte    // what arrived as keys of Windows, byte by byte

	text strings.Builder // of a paste
	seen int             // how much of pasteEnds its last bytes matched
	lost int             // bytes of it that were not kept

	mu      sync.Mutex
	ready   []Paste
	onColor func(RGB) // waits for the background color; nil: nobody does
	asked   time.Time // for that
}

// Paste is a pasted text, unchanged. If it was too long to be kept, Text is empty.
type Paste struct {
	Text string
	Size int // in bytes
}

// decoding is what the last bytes began.
type decoding int

const (
	atKey decoding = iota
	inCharacter
	inEscape  // ESC
	inControl // ESC [
	inLinuxF  // ESC [ [
	inSingle  // ESC O
	inReply   // ESC ] or another string that ends with ESC \ or BEL
	inPaste
	inBurst // several lines at once, from a terminal without bracketed paste
)

// deadline returns when [decoder.expire] is due; zero: never.
func (d *decoder) deadline() time.Time {
	switch d.state {
	case atKey:
		return time.Time{}
	case inPaste:
		return d.last.Add(restOfPaste)
	case inReply:
		if len(d.seq) > 2 {
			return d.last.Add(restOfReply)
		}
	}
	return d.last.Add(restOfKey)
}

// feed returns what tcell gets for bytes that arrived at once.
func (d *decoder) feed(in []byte, at time.Time) []byte {
	if by := d.deadline(); !by.IsZero() && at.After(by) {
		d.giveUp()
	}
	d.last, d.prior = at, ""
	if d.state == atKey && severalLines(in) {
		d.state = inBurst
	}
	if d.state == inBurst && typed(in) {
		d.keep(in)
		return d.passOn()
	}
	if d.state == inBurst {
		d.finish(0)
	}
	if d.state == inPaste && isHalt(in) { // nobody pastes it alone: the paste has no end
		d.finish(0)
	}
	for len(in) > 0 {
		if d.state == inPaste {
			in = d.paste(in)
			continue
		}
		d.read(in[0])
		if in = in[1:]; len(in) == 0 && len(d.inner) > 0 {
			in, d.inner = d.inner, nil
		}
	}
	return d.passOn()
}

// expire gives up what is incomplete, and returns what tcell gets instead.
func (d *decoder) expire() []byte {
	d.giveUp()
	return d.passOn()
}

func (d *decoder) passOn() []byte {
	out := d.out
	d.out = nil
	return out
}

// read reads a byte that is not of a paste.
func (d *decoder) read(b byte) {
	switch d.state {
	case atKey, inCharacter:
		d.plain(b)
	case inEscape:
		d.afterEscape(b)
	case inControl, inSingle:
		switch {
		case b < ' ': // no key contains a control character: this is another key
			d.drop()
			d.plain(b)
		case b >= 0x80 || len(d.seq) > maxSequence:
			d.drop()
			d.plain(b)
		default:
			d.seq = append(d.seq, b)
			if d.state == inSingle || b >= '@' {
				d.whole(b)
			}
		}
	case inLinuxF:
		seq := d.seq
		d.drop()
		if b >= 'A' && b <= 'E' {
			d.send(string(append(seq, b)))
		} else {
			d.plain(b)
		}
	case inReply:
		d.replied(b)
	}
}

// plain reads a byte outside of sequences.
func (d *decoder) plain(b byte) {
	switch {
	case d.state == inCharacter && !utf8.RuneStart(b):
		d.seq = append(d.seq, b)
	case b == '\x1b':
		d.state, d.seq = inEscape, []byte{b}
		return
	case b >= utf8.RuneSelf && !d.bytes:
		d.state, d.seq = inCharacter, []byte{b} // in the place of half a character
	default:
		d.drop()
		d.send(string([]byte{b}))
		return
	}
	if seq := d.seq; utf8.FullRune(seq) {
		if d.drop(); utf8.Valid(seq) {
			d.send(string(seq))
		}
	}
}

func (d *decoder) drop() { d.state, d.seq = atKey, nil }

func (d *decoder) afterEscape(b byte) {
	if b >= utf8.RuneSelf { // Alt is lost, as it is in tcell
		d.drop()
		d.plain(b)
		return
	}
	d.seq = append(d.seq, b)
	switch b {
	case '[':
		d.state = inControl
	case 'O':
		d.state = inSingle
	case ']', 'P', '_', '^', 'X':
		d.state, d.seq = inReply, d.seq[len(d.seq)-2:]
	case 'N': // tcell would swallow the next character
		d.drop()
		d.alt(b)
	case '\x1b':
		if len(d.seq) > 2 { // of several Esc the last may belong to a key
			d.seq = d.seq[1:]
			d.send(key('\x1b', 0))
		}
	case '\x1c': // Esc, and the key that halts: tcell would read Alt+|
		d.drop()
		d.send(key('\x1b', 0))
		d.plain(b)
	default:
		if len(d.seq) > 2 {
			d.send(key('\x1b', 0))
		}
		d.send("\x1b" + string([]byte{b}))
		d.drop()
	}
}

// replied reads a byte of a reply of the terminal. Only a control character that cannot belong to one ends it early.
func (d *decoder) replied(b byte) {
	if d.seq[len(d.seq)-1] == '\x1b' {
		d.seq = d.seq[:len(d.seq)-1]
		if b == '\\' {
			d.answer()
			return
		}
		d.state, d.seq = inEscape, []byte{'\x1b'}
		d.afterEscape(b)
		return
	}
	switch {
	case b == '\a':
		d.answer()
	case b < ' ' && b != '\x1b':
		d.drop()
		d.plain(b)
	case len(d.seq) > maxSequence:
		d.drop()
	default:
		d.seq = append(d.seq, b)
	}
}

// answer takes a whole reply. It is for arbiter, or for nobody.
func (d *decoder) answer() {
	text, isColor := strings.CutPrefix(string(d.seq), "\x1b]11;")
	d.drop()
	rgb, ok := ParseRGB(text)
	if !isColor || !ok {
		return
	}
	d.mu.Lock()
	onColor := d.onColor
	d.onColor = nil
	d.mu.Unlock()
	if onColor != nil {
		onColor(rgb)
	}
}

// listen has onColor called with the background color, once, when the terminal reports it.
func (d *decoder) listen(onColor func(RGB)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.onColor, d.asked = onColor, time.Now()
}

// listens reports whether the background color may still be reported: terminals that do, do it soon.
func (d *decoder) listens() bool {
	const soon = 2 * time.Second
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.onColor != nil && time.Since(d.asked) < soon
}

// key is a key as in the kitty keyboard protocol. modifiers are a sum: 1 Shift, 2 Alt, 4 Ctrl.
func key(r rune, modifiers int) string {
	if modifiers == 0 {
		return fmt.Sprintf("\x1b[%du", r)
	}
	return fmt.Sprintf("\x1b[%d;%du", r, modifiers+1)
}

func (d *decoder) alt(b byte) { d.send(key(rune(b), 2)) }

// send passes a key on.
func (d *decoder) send(seq string) {
	if seq == d.prior && repeats(seq) {
		if d.alike++; d.alike >= mostAlike {
			return
		}
	} else {
		d.prior, d.alike = seq, 0
	}
	d.out = append(d.out, seq...)
}

// repeats reports whether of many a few are enough: steps of the wheel, and pages.
func repeats(seq string) bool {
	return strings.HasPrefix(seq, "\x1b[<64;") || strings.HasPrefix(seq, "\x1b[<65;") || seq == "\x1b[5~" ||
		seq == "\x1b[6~"
}

// whole takes a sequence that is complete with its last byte.
func (d *decoder) whole(final byte) {
	// Two ESC mean Alt. tcell would keep Alt for a later key if it drops this one.
	seq, alt := d.seq, d.seq[1] == '\x1b'
	if alt {
		seq = seq[1:]
	}
	if d.state == inSingle {
		if d.drop(); alt && strings.IndexByte("ABCDFHPQRS", final) >= 0 {
			seq = []byte("\x1b[1;3" + string([]byte{final}))
		}
		d.send(string(seq))
		return
	}
	if final == '[' && len(seq) == 3 {
		d.state, d.seq = inLinuxF, seq
		return
	}
	d.drop()
	p := string(seq[2 : len(seq)-1])
	if final == '[' {
		return // tcell would take the next key for the end of an F key
	}
	if _, err := strconv.ParseUint(p, 10, 16); alt && final == '~' && err == nil {
		p += ";3"
	} else if alt && p == "" {
		p = "1;3"
	}
	switch {
	case final == '~' && p == "200":
		d.state = inPaste
		return
	case final == '~' && p == "201": // of a paste that was given up
		return
	case strings.HasPrefix(p, "<"): // the mouse
	case strings.ContainsFunc(p, func(r rune) bool { return (r < '0' || r > '9') && r != ';' && r != ':' }):
		return // a reply, no key
	case final == 'u' || final == '~' && strings.HasPrefix(p, "27;"):
		d.send(extended(final, p))
		return
	case final == '_':
		d.windows(string(seq), p)
		return
	case strings.Contains(p, ":"): // tcell reads no parts of a parameter
		var ok bool
		if p, ok = withoutParts(p); !ok {
			return
		}
	}
	d.send("\x1b[" + p + string([]byte{final}))
}

// withoutParts drops the parts of parameters: "1;5:1". It returns false if they say that the key was released.
func withoutParts(p string) (string, bool) {
	fields := strings.Split(p, ";")
	for i, f := range fields {
		first, rest, _ := strings.Cut(f, ":")
		if i == 1 && rest == "3" {
			return "", false
		}
		fields[i] = first
	}
	return strings.Join(fields, ";"), true
}

// Parts of modifiers in the keyboard protocols.
const altKey, ctrlKey, capsLock = 2, 4, 64

// extended reads a key of the kitty protocol, "KEY:SHIFTED:BASE;MODIFIERS:EVENT u", or of xterm's modifyOtherKeys,
// "27;MODIFIERS;KEY ~". With Ctrl and Alt it names the key of the Latin layout: arbiter's keys are there. It returns ""
// for a key that types nothing.
func extended(final byte, p string) string {
	fields := strings.Split(p, ";")
	if final == '~' {
		if len(fields) < 3 {
			return "\x1b[" + p + "~"
		}
		fields = []string{fields[2], fields[1]}
	}
	parts := strings.Split(fields[0], ":")
	r, _ := strconv.Atoi(parts[0])
	modifiers := 0
	if len(fields) > 1 {
		m, event, _ := strings.Cut(fields[1], ":")
		if event == "3" {
			return ""
		}
		n, _ := strconv.Atoi(m)
		modifiers = max(n-1, 0) % capsLock
	}
	const firstMedia, lastPrivate = 57427, 63743 // keys without a character: media keys, and modifiers alone
	if r >= firstMedia && r <= lastPrivate || r <= 0 || r > unicode.MaxRune {
		return ""
	}
	base := 0
	if len(parts) > 2 {
		base, _ = strconv.Atoi(parts[2])
	}
	if modifiers&(altKey|ctrlKey) != 0 && r > unicode.MaxASCII {
		if base == 0 {
			base = int(latin[unicode.ToLower(rune(r))])
		}
		if base > 0 && base <= unicode.MaxASCII {
			r = base
		}
	}
	return key(rune(r), modifiers)
}

// latin maps letters to those that are on the same keys of a Latin keyboard. Terminals without the kitty protocol
// report Ctrl only with the letter.
var latin = layout(
	"йцукенгшщзхїъфывіапролджєэячсмитьбю", "qwertyuiop[]]assdfghjkl;''zxcvbnm,.",
	"ςερτυθιοπασδφγηξκλζχψωβνμ", "wertyuiopasdfghjklzxcvbnm",
	"קראטוןםפשדגכעיחלךףזסבהנמצתץ", "ertyuiopasdfghjkl;zxcvbnm,.",
)

func layout(pairs ...string) map[rune]byte {
	m := map[rune]byte{}
	for i := 0; i < len(pairs); i += 2 {
		for n, r := range []rune(pairs[i]) {
			m[r] = pairs[i+1][n]
		}
	}
	return m
}

// windows reads a key of the protocol of Windows, "KEY;SCAN;CHARACTER;DOWN;STATE;REPEAT _". Some terminals send other
// sequences in it, byte by byte; tcell has a second decoder for those, with the same faults.
func (d *decoder) windows(seq, p string) {
	var f [6]int
	for i, text := range strings.SplitN(p, ";", 6) {
		f[i], _ = strconv.Atoi(text)
	}
	const c = 8 // the left Ctrl in STATE
	switch {
	case f[3] == 0: // released
	case f[0] == 0 && f[1] == 0 && f[2] > 0 && f[2] < utf8.RuneSelf:
		d.inner = append(d.inner, byte(f[2]))
	case f[2] == '\x1c' && f[4]&(c|4) != 0:
		d.plain('\x1c')
	default:
		d.send(seq)
	}
}

// giveUp ends what is incomplete. What a key may have begun counts as that key: "ESC ]" is Alt+].
func (d *decoder) giveUp() {
	state, seq := d.state, d.seq
	switch state {
	case inPaste, inBurst:
		d.finish(0)
		return
	}
	d.drop()
	switch {
	case state == inEscape:
		for range seq {
			d.send(key('\x1b', 0))
		}
	case state == inLinuxF:
		d.alt('[')
		d.send("[")
	case state != inCharacter && len(seq) == 2: // ESC and the beginning of a longer sequence
		d.alt(seq[1])
	}
}

// paste keeps what belongs to a paste, and returns the rest.
func (d *decoder) paste(in []byte) []byte {
	for i := 0; i < len(in); i++ {
		if d.seen == 0 {
			n := bytes.IndexByte(in[i:], pasteEnds[0])
			if n < 0 {
				break
			}
			i += n
		}
		switch in[i] {
		case pasteEnds[d.seen]:
			d.seen++
		case pasteEnds[0]:
			d.seen = 1
		default:
			d.seen = 0
		}
		if d.seen == len(pasteEnds) {
			d.keep(in[:i+1])
			d.finish(len(pasteEnds))
			return in[i+1:]
		}
	}
	d.keep(in)
	return nil
}

func (d *decoder) keep(p []byte) {
	space := max(maxPaste+len(pasteEnds)-d.text.Len(), 0)
	if len(p) > space {
		d.lost += len(p) - space
		p = p[:space]
	}
	d.text.WriteString(string(p))
}

// finish queues the pasted text, without so many bytes at its end. If the terminal did not end it, a person may have
// pressed the key that halts since it began.
func (d *decoder) finish(mark int) {
	p := Paste{Size: d.text.Len() + d.lost - mark}
	halts := -1
	if d.lost == 0 {
		p.Text = d.text.String()[:p.Size]
		if mark == 0 {
			halts = halting(p.Text)
		}
	}
	if halts >= 0 {
		p = Paste{p.Text[:halts], halts}
	}
	d.text, d.lost, d.seen = strings.Builder{}, 0, 0
	d.state, d.seq = atKey, nil
	d.mu.Lock()
	d.ready = append(d.ready, p)
	d.mu.Unlock()
	d.send(pasted)
	if halts >= 0 {
		d.plain('\x1c')
	}
}

// halting returns where the key that halts is in a text; -1: nowhere.
func halting(text string) int {
	for at := 0; at < len(text); at++ {
		next := strings.IndexAny(text[at:], "\x1b\x1c")
		if next < 0 {
			break
		}
		at += next
		if isHalt([]byte(text[at:])) {
			return at
		}
	}
	return -1
}

// isHalt reports whether bytes begin with the key that halts.
func isHalt(in []byte) bool {
	const longest = 32
	out := (&decoder{}).feed(in[:min(len(in), longest)], time.Time{})
	return bytes.HasPrefix(out, []byte("\x1c")) || bytes.HasPrefix(out, []byte(key('\\', ctrlKey)))
}

// take returns the oldest paste that was not taken yet.
func (d *decoder) take() (p Paste, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.ready) == 0 {
		return Paste{}, false
	}
	p, d.ready = d.ready[0], d.ready[1:]
	return p, true
}

// severalLines reports whether text that arrived at once goes on after the end of a line. Nobody types so fast.
func severalLines(in []byte) bool {
	i := bytes.IndexAny(in, "\r\n")
	return i >= 0 && len(bytes.Trim(in[i:], "\r\n")) > 0 && typed(in)
}

// typed reports whether there are no keys in it but those of text.
func typed(in []byte) bool {
	return !bytes.ContainsFunc(in, func(r rune) bool {
		return r < ' ' && r != '\r' && r != '\n' && r != '\t' || r == '\x7f'
	})
}

package ptyproxy

import (
	"bytes"
	"strconv"
	"strings"
)

// keyWatch looks for the detach key in what is typed: as its control character, and in the forms that
// terminals send after a program has enabled an extended keyboard mode – CSI 93;5u, and CSI 27;5;93~
// (xterm's modifyOtherKeys). In a paste it is text, unless it arrives alone: then the end of the paste was
// lost.
type keyWatch struct {
	letter  byte   // pressed together with Ctrl
	seq     []byte // of an incomplete sequence, from its ESC on
	pasting bool
}

const longestSeq = 32

// look returns the part of p that is for the child, and whether the key was pressed: input after the key is
// not for the child. If the first bytes of the key's sequence arrived alone, they were passed on; that does
// no harm, because the child is about to be ended.
func (k *keyWatch) look(p []byte) (typed []byte, pressed bool) {
	begin := 0 // of the sequence under way, if it began in p
	for i, c := range p {
		switch {
		case c == 0x1b:
			k.seq, begin = append(k.seq[:0], c), i
			continue
		case len(k.seq) == 0:
			if c == k.letter&0x1f && (!k.pasting || len(p) == 1) {
				return p[:i], true
			}
			continue
		}
		k.seq = append(k.seq, c)
		if len(k.seq) == 2 && c == '[' {
			continue
		}
		if final := c >= 0x40; !final && len(k.seq) < longestSeq && k.seq[1] == '[' {
			continue
		}
		key := k.key() || len(k.seq) == 2 && c == k.letter&0x1f
		switch {
		case bytes.Equal(k.seq, []byte("\x1b[200~")):
			k.pasting = true
		case bytes.Equal(k.seq, []byte("\x1b[201~")):
			k.pasting = false
		case key && (!k.pasting || len(k.seq) == len(p)):
			k.seq = k.seq[:0]
			return p[:begin], true
		}
		k.seq = k.seq[:0]
		begin = 0
	}
	return p, false
}

// key reports whether the sequence is the detach key.
func (k *keyWatch) key() bool {
	if len(k.seq) < 3 || k.seq[1] != '[' {
		return false
	}
	params := strings.Split(string(k.seq[2:len(k.seq)-1]), ";")
	code, mods := "", ""
	switch k.seq[len(k.seq)-1] {
	case 'u':
		if len(params) >= 2 {
			code, mods = params[0], params[1]
		}
	case '~':
		if len(params) == 3 && params[0] == "27" {
			mods, code = params[1], params[2]
		}
	}
	code, _, _ = strings.Cut(code, ":") // alternatives of the key follow
	mods, event, _ := strings.Cut(mods, ":")
	bits, err := strconv.Atoi(mods)
	if err != nil || event == "3" { // the key was released
		return false
	}
	const control, locks = 4, 64 | 128
	lower := bytes.ToLower([]byte{k.letter})[0]
	return (bits-1)&^locks == control && (code == strconv.Itoa(int(k.letter)) || code == strconv.Itoa(int(lower)))
}

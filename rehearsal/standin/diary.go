package standin

import (
	"os"
	"strings"
)

// LedgerVariable names a file in which every stand-in writes down what it did, for
// whoever checks afterwards what others say of it: one JSON object a line, each in
// one write, appended by all processes.
//
//	{"event":"start","session":…,"pid":…,"argv":…,"cwd":…}   a process has begun a session,
//	{"event":"resume","session":…,"pid":…,"argv":…,"cwd":…}  or resumed one
//	{"event":"permission","session":…,"pid":…,"tool":…,"behavior":…}  the host was asked
//	         for a tool, and answered
//	{"event":"took","session":…,"pid":…,"uuid":…,"message":…}   a message is in the
//	         conversation from here on; message is the id its envelope names, if any
//	{"event":"ended","session":…,"pid":…,"uuid":…,"message":…}  its turn has an end,
//	         and the result is about to be written
//	{"event":"dropped",…}  a message came again and was dropped as a repeat
//	{"event":"exit","session":…,"pid":…}    the process leaves in order
//
// Two processes are on one session at a time if a start or resume of it comes
// before the exit of another that is alive then.
const LedgerVariable = "ARBITER_STANDIN_LEDGER"

// diary writes the ledger. Nil writes nothing.
type diary struct {
	path string
	pid  int
}

func newDiary(env environ) *diary {
	if path := env[LedgerVariable]; path != "" {
		return &diary{path: path, pid: os.Getpid()}
	}
	return nil
}

func (d *diary) note(event, session string, more obj) {
	if d == nil {
		return
	}
	line := obj{"event": event, "session": session, "pid": d.pid}
	for k, v := range more {
		if v != "" {
			line[k] = v
		}
	}
	f, err := os.OpenFile(d.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic("stand-in: the ledger cannot be written: " + err.Error()) // it is there to be relied on
	}
	defer f.Close()
	if _, err := f.Write(append(encode(line), '\n')); err != nil {
		panic("stand-in: the ledger cannot be written: " + err.Error())
	}
}

// message notes something about a message.
func (d *diary) message(event, session string, m message) {
	if d != nil {
		d.note(event, session, obj{"uuid": m.uuid, "message": envelopeID(m.text())})
	}
}

// envelopeID reads the id out of an envelope's first line, as in
// ⟦delimiter | from: human | kind: task | id: 5f0c⟧; "" if there is none.
func envelopeID(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	inner, ok := strings.CutPrefix(strings.TrimSpace(line), "⟦")
	if !ok {
		return ""
	}
	inner, _, _ = strings.Cut(inner, "⟧")
	for field := range strings.SplitSeq(inner, "|") {
		if id, ok := strings.CutPrefix(strings.TrimSpace(field), "id: "); ok {
			return id
		}
	}
	return ""
}

package fakecli

import (
	"maps"
	"os"
	"regexp"
	"strings"
	"sync"
)

// LedgerVariable names a file in which every stand-in notes what it did, so that tests can
// compare it with what others report. One JSON object a line, appended by all processes, each
// in one write, with event, session and pid:
//
//	start, resume  a process begins or resumes a session; with argv and cwd
//	permission     the host was asked for a tool, and answered; with tool and behavior
//	took           a message is in the conversation from here on; with uuid, and with message,
//	               the id in its envelope, if it has one
//	ended          its turn is over, and the result is about to be written
//	dropped        a message came again and was dropped as a repeat
//	exit           the process leaves in order
//
// Two processes are on one session at the same time if a start or resume of it precedes the
// exit of another that is alive then.
const LedgerVariable = "ARBITER_STANDIN_LEDGER"

// ledger writes the file. Without a path it writes nothing.
type ledger struct{ path string }

func (l ledger) note(event, session string, more obj) {
	if l.path == "" {
		return
	}
	line := obj{"event": event, "session": session, "pid": os.Getpid()}
	maps.Copy(line, more)
	maps.DeleteFunc(line, func(_ string, v any) bool { return v == "" })
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.Write(append(encode(line), '\n'))
		f.Close()
	}
	if err != nil {
		panic("stand-in: the ledger cannot be written: " + err.Error()) // tests rely on it
	}
}

func (l ledger) message(event, session string, m message) {
	l.note(event, session, obj{"uuid": m.uuid, "message": envelopeID(m.text())})
}

var envelope = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*⟦[^⟧\n]*\| id: ([^|⟧\n]*)`)
})

// envelopeID reads the id in an envelope's first line, as in
// ⟦delimiter | from: human | kind: task | id: 5f0c⟧; "" if there is none.
func envelopeID(text string) string {
	if m := envelope().FindStringSubmatch(text); m != nil {
		return strings.TrimSpace(m[1])
	}
	return ""
}

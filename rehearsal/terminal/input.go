package terminal

import "github.com/arbiter-cli/arbiter/internal/backlog"

// send queues input for the program; nil ends it. The queue is unbounded, so that a test can detect a
// program that does not read.
func (t *Terminal) send(p []byte) { t.input.Put(p, len(p), backlog.Limit{}) }

// write sends the queue to the program.
func (t *Terminal) write() {
	for range t.input.Wake() {
		parts, _, _ := t.input.Take(0)
		for _, p := range parts {
			if p == nil {
				return
			}
			if _, err := t.master.Write(p); err != nil {
				return // the terminal is gone, and the program with it
			}
		}
	}
}

// takeAnswers passes the emulator's answers on. It does not take the lock of the emulator, which the writer
// holds while it waits for this.
func (t *Terminal) takeAnswers() {
	from := t.emu.answers()
	for {
		buf := make([]byte, 4<<10)
		n, err := from.Read(buf)
		t.answering.Lock()
		t.answered = append(t.answered, buf[:n]...)
		t.answering.Unlock()
		t.send(buf[:n])
		if err != nil {
			return
		}
	}
}

package terminal

import (
	"slices"
	"sync"
)

// queue holds what is on the way to the program. It has no bound: who types is a test,
// and a program that does not read must not keep the test from finding that out.
type queue struct {
	mu    sync.Mutex
	bytes []byte
	over  bool
	wake  chan struct{} // one slot: there is something to do
}

func (q *queue) put(p []byte) {
	q.mu.Lock()
	q.bytes = append(q.bytes, p...)
	q.mu.Unlock()
	q.signal()
}

func (q *queue) end() {
	q.mu.Lock()
	q.over = true
	q.mu.Unlock()
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) take() (p []byte, over bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p, q.bytes = q.bytes, nil
	return p, q.over
}

// write sends the queue to the program.
func (t *Terminal) write() {
	for range t.input.wake {
		p, over := t.input.take()
		if over {
			return
		}
		if _, err := t.master.Write(p); err != nil {
			return // the terminal is gone, and with it who would read
		}
	}
}

// answers keeps what the terminal said.
type answers struct {
	mu    sync.Mutex
	bytes []byte
}

func (a *answers) add(p []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bytes = append(a.bytes, p...)
}

func (a *answers) all() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.bytes)
}

// takeAnswers passes the emulator's answers on. It takes none of the terminal's locks:
// who feeds the emulator holds one and waits for this.
func (t *Terminal) takeAnswers() {
	from := t.emu.answers()
	buf := make([]byte, 4<<10)
	for {
		n, err := from.Read(buf)
		t.answered.add(buf[:n])
		t.input.put(buf[:n])
		if err != nil {
			return
		}
	}
}

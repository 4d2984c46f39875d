// Package browser drives a headless Chromium for tests and pictures of the web page: it opens pages,
// presses keys, evaluates expressions, and reads what a screen reader reads.
//
// It uses the browser's own protocol (Chrome DevTools Protocol) over the pipe of --remote-debugging-pipe:
// JSON messages that end with a NUL. The few methods that it needs are called by name, so that no library
// with all of them has to be compiled.
package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// names are the supported programs, the smallest first.
var names = []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"}

// Find finds a Chromium on PATH.
func Find() (path string, ok bool) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, true
		}
	}
	return "", false
}

// closing is how long the browser may take to end after the request.
const closing = 3 * time.Second

// Browser is a running Chromium. Its methods are safe for concurrent use.
type Browser struct {
	cmd  *exec.Cmd
	out  *os.File // to it
	read chan struct{}

	mu      sync.Mutex
	next    int
	answers map[int]chan message
	pages   map[string]*Page // by session
	err     error            // why no more messages come
}

// message is a message of the protocol, in either direction.
type message struct {
	ID      int             `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// Start starts a Chromium that keeps its files in dir. The caller closes it.
func Start(path, dir string) (*Browser, error) {
	ours, theirs, err := os.Pipe() // the browser reads it
	if err != nil {
		return nil, err
	}
	answers, output, err := os.Pipe() // the browser writes it
	if err != nil {
		return nil, errors.Join(err, ours.Close(), theirs.Close())
	}
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
		"--user-data-dir="+dir, "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--disable-extensions", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio",
		"--no-zygote", "--disable-breakpad")
	cmd.ExtraFiles = []*os.File{ours, output} // 3 and 4
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Start()
	err = errors.Join(err, ours.Close(), output.Close())
	if err != nil {
		return nil, errors.Join(err, theirs.Close(), answers.Close())
	}
	b := &Browser{cmd: cmd, out: theirs, read: make(chan struct{}), answers: map[int]chan message{},
		pages: map[string]*Page{}}
	go b.listen(answers) // ends with the browser; Close waits for it
	return b, nil
}

// Close ends the browser and all of its processes.
func (b *Browser) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	_ = b.call(ctx, "", "Browser.close", nil, nil) // it may have crashed
	select {
	case <-b.read:
	case <-ctx.Done():
	}
	cancel()
	_ = syscall.Kill(-b.cmd.Process.Pid, syscall.SIGKILL) // its children may be late
	_ = b.cmd.Wait()                                      // it was killed
	<-b.read
	_ = b.out.Close() // the browser no longer reads it
}

// listen handles the browser's messages, until it ends.
func (b *Browser) listen(in *os.File) {
	defer close(b.read)
	defer in.Close()
	r := bufio.NewReaderSize(in, 1<<20)
	for {
		raw, err := r.ReadBytes(0)
		if err != nil {
			b.end(fmt.Errorf("the browser has ended: %w", err))
			return
		}
		var m message
		if err := json.Unmarshal(raw[:len(raw)-1], &m); err != nil {
			b.end(fmt.Errorf("the browser said %.200q: %w", raw, err))
			return
		}
		b.mu.Lock()
		answer, page := b.answers[m.ID], b.pages[m.Session]
		delete(b.answers, m.ID)
		b.mu.Unlock()
		switch {
		case m.ID != 0 && answer != nil:
			answer <- m
		case m.Method != "" && page != nil:
			page.handleEvent(m)
		}
	}
}

// end makes all calls fail.
func (b *Browser) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
	for id, answer := range b.answers {
		close(answer)
		delete(b.answers, id)
	}
}

// call calls a method of the protocol; session is that of a page, or empty.
func (b *Browser) call(ctx context.Context, session, method string, params, result any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	b.mu.Lock()
	if b.err != nil {
		defer b.mu.Unlock()
		return b.err
	}
	b.next++
	m := message{ID: b.next, Method: method, Session: session, Params: raw}
	if params == nil {
		m.Params = nil
	}
	answer := make(chan message, 1)
	b.answers[m.ID] = answer
	if raw, err = json.Marshal(m); err == nil {
		_, err = b.out.Write(append(raw, 0)) // completely, because the lock is held
	}
	b.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			return fmt.Errorf("%s: the browser has ended", method)
		case m.Error != nil:
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		case result != nil:
			return json.Unmarshal(m.Result, result)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	}
}

package standin

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"strings"
)

// In a terminal the stand-in is a line-based talk: what the CLI's screen is to the
// transcript, and nothing of what it looks like.

// inTerminal reports whether a person resumes a session by hand.
func inTerminal(f flags, stdin io.Reader) bool {
	file, ok := stdin.(*os.File)
	if !ok || f.has("--print") || f.has("--input-format") || f.prompt != "" || !f.has("--resume") {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

const (
	terminalPrompt = "> "
	terminalHint   = "Press Ctrl-C again to exit"
)

// welcome shows what was said last.
func (s *session) welcome() {
	s.out.write([]byte("Claude Code stand-in, session " + s.id + "; /exit leaves"))
	entries := s.main.hist.entries // nobody else has it yet
	for i := len(entries) - 1; i >= 0; i-- {
		if text := (message{blocks: entries[i].blocks}).text(); entries[i].role == "assistant" && text != "" {
			s.out.write([]byte(text))
			break
		}
	}
	s.out.write([]byte(terminalPrompt))
}

// readTyped takes lines until /exit or the end of the terminal.
func (s *session) readTyped(stdin io.Reader) {
	defer s.inbox.close()
	defer s.host.close()
	lines := bufio.NewReader(stdin)
	for {
		line, err := lines.ReadString('\n')
		s.breaks.Store(0)
		switch text := strings.TrimSpace(line); text {
		case "":
		case "/exit", "/quit":
			return
		default:
			id := newUUID()
			s.inbox.admit(id)
			s.inbox.push(message{uuid: id, blocks: []json.RawMessage{textBlock(text)}, content: encode(text)})
		}
		if err != nil {
			return
		}
	}
}

// broke takes a Ctrl-C and says whether it is the one that leaves.
func (s *session) broke() bool {
	if !s.typed || s.breaks.Add(1) > 1 {
		return true
	}
	s.mu.Lock()
	t := s.current
	s.mu.Unlock()
	if t != nil {
		t.cancel(errInterrupted)
		s.breaks.Store(0)
		return false
	}
	s.out.write([]byte(terminalHint))
	return false
}

// source and origin are who a message is from, in the transcript.
func (s *session) source() string {
	if s.typed {
		return "typed"
	}
	return "sdk"
}

func (s *session) origin() string {
	if s.typed {
		return "human"
	}
	return "sdk"
}

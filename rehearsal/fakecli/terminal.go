package fakecli

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
)

// In a terminal the fake CLI is a line-based conversation, as far as a takeover needs one.

// isTerminal reports whether a person resumes a session by hand.
func isTerminal(f flags, stdin io.Reader) bool {
	file, ok := stdin.(*os.File)
	if !ok || f.has("-p") || f.has("--input-format") || !f.has("--resume") {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

const terminalPrompt = "> "

// welcome shows what was said last.
func (s *session) welcome() {
	s.out.write([]byte("Claude Code stand-in, session " + s.id + "; /exit leaves"))
	for _, m := range slices.Backward(s.main.messages) { // no other goroutine has it yet
		if text := textOf(m.Content); m.Role == "assistant" && text != "" {
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
	for lines := bufio.NewReader(stdin); ; {
		line, err := lines.ReadString('\n')
		switch text := strings.TrimSpace(line); text {
		case "":
		case "/exit", "/quit":
			return
		default:
			blocks := []json.RawMessage{textBlock(text)}
			s.inbox.push(message{uuid: newUUID(), blocks: blocks, content: encode(text)}, func() {})
		}
		if err != nil {
			return
		}
	}
}

// promptSource is who a message is from, in the transcript.
func (s *session) promptSource() string {
	if s.typed {
		return "typed"
	}
	return "sdk"
}

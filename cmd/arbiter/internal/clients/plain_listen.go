package clients

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// maxLine bounds a line of the input, and a message of several lines.
const maxLine = 1 << 20

const tooLong = "That is more than 1 MiB and was not taken. Save it to a file, and name the file."

// fence begins and ends a message of several lines.
const fence = `"""`

// inputLine is a line of the input, or its end.
type inputLine struct {
	text string
	long bool
	end  bool
}

// listen reads lines until the input ends or fails; both are reported as the end.
func listen(in io.Reader, lines chan<- inputLine, quit <-chan struct{}) {
	r := bufio.NewReaderSize(in, 64<<10)
	for first := true; ; first = false {
		h, ended := line(r)
		if first {
			h.text = strings.TrimPrefix(h.text, "\ufeff")
		}
		if h.text != "" || h.long || !ended {
			if !sendLine(lines, h, quit) {
				return
			}
		}
		if ended {
			sendLine(lines, inputLine{end: true}, quit)
			return
		}
	}
}

func sendLine(lines chan<- inputLine, h inputLine, quit <-chan struct{}) bool {
	select {
	case lines <- h:
		return true
	case <-quit:
		return false
	}
}

// line reads one line. A line that is too long is discarded.
func line(r *bufio.Reader) (h inputLine, ended bool) {
	var b []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(b)+len(part) > maxLine+len("\r\n") {
			h.long, b = true, b[:0]
		} else if !h.long {
			b = append(b, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		h.text = strings.ToValidUTF8(strings.TrimRight(string(b), "\r\n"), "\uFFFD")
		if len(h.text) > maxLine {
			h.text, h.long = "", true
		}
		return h, err != nil
	}
}

// runJobs runs jobs, one after the other.
func runJobs(jobs <-chan workerJob, results chan<- result, quit <-chan struct{}) {
	for {
		select {
		case o := <-jobs:
			r := o.do(o.run)
			select {
			case results <- r:
			case <-quit:
				return
			}
		case <-quit:
			return
		}
	}
}

// handleLine handles a line of the input.
func (s *plainSession) handleLine(ctx context.Context, h inputLine) {
	text := strings.TrimSpace(h.text)
	switch {
	case h.end:
		s.inputEnded = true
		if s.block.open {
			s.closeBlock(ctx)
		}
		if s.asked {
			s.do(func(run PlainRun) result {
				if run != nil {
					run.InputEnded()
				}
				return result{}
			})
		}
	case h.long && s.block.open:
		s.block.bytes += maxLine + 1
	case h.long:
		s.print(tooLong, true)
	case text == fence && s.block.open:
		s.closeBlock(ctx)
	case s.block.open:
		s.block.add(h.text)
	case text == fence:
		s.block.open = true
	case text == "":
	case strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//"):
		s.command(text)
	default:
		s.word(ctx, strings.TrimPrefix(text, "/"), true)
	}
}

// block is a message of several lines that is being typed.
type block struct {
	open  bool
	lines []string
	bytes int
}

func (b *block) add(line string) {
	if b.bytes += len(line) + 1; b.bytes <= maxLine {
		b.lines = append(b.lines, line)
	} else {
		b.lines = nil
	}
}

func (s *plainSession) closeBlock(ctx context.Context) {
	b := s.block
	s.block = block{}
	text := strings.Join(b.lines, "\n")
	switch {
	case b.bytes > maxLine:
		s.print(tooLong, true)
	case strings.TrimSpace(text) != "":
		s.word(ctx, text, false)
	}
}

// word handles text that is not a command: an answer to a permission request, the task, or a message to the
// Arbiter.
func (s *plainSession) word(ctx context.Context, text string, answers bool) {
	if answers {
		switch a := s.narrator.answer(text); {
		case a.problem != "":
			s.print(a.problem, true)
			return
		case a.request != "":
			s.put(contract.Permit{Request: a.request, Behavior: a.behavior, Scope: a.scope, Rule: a.rule,
				Action: a.action, Message: a.reason})
			return
		}
	}
	if !s.asked {
		s.print("So it shall be.", true)
		s.begin(ctx, text)
		return
	}
	s.narrator.answered()
	s.put(contract.Say{Text: text})
}

// command runs a slash command. Without Commands there is only one.
func (s *plainSession) command(text string) {
	if s.frontend.Inbox != nil {
		switch name, rest, _ := strings.Cut(text, " "); name {
		case "/inbox":
			s.listInbox()
			return
		case "/answer":
			s.answerInbox(rest)
			return
		}
	}
	if s.frontend.Commands == nil {
		if text != "/quit" {
			s.print(fmt.Sprintf("There is no command %s; there is /quit. To send it as text, begin with two slashes.",
				firstWord(text)), true)
			return
		}
		s.print("Patience. The run is being stopped.", true)
		s.stop()
		return
	}
	s.do(func(PlainRun) result {
		handled, message := s.frontend.Commands.Run(text)
		if !handled && message == "" {
			message = fmt.Sprintf("There is no command %s; /help lists them. To send it as text, begin with two slashes.",
				firstWord(text))
		}
		return result{text: message}
	})
}

func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	if len(word) > 40 {
		word = word[:40]
	}
	return word
}

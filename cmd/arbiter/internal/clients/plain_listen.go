package clients

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
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
	r := jsonl.NewLineReader(in, maxLine)
	for {
		line, err := r.NextOrLast()
		h := inputLine{long: line.Oversize, end: err != nil}
		if !h.long {
			h.text = strings.ToValidUTF8(strings.TrimRight(string(line.Data), "\r"), "\uFFFD")
		}
		if line.Start == 0 {
			h.text = strings.TrimPrefix(h.text, "\ufeff")
		}
		if len(h.text) > maxLine {
			h.text, h.long = "", true
		}
		if !sendLine(lines, h, quit) || h.end {
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

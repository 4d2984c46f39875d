package supervisor

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ParseEnvelope reads what Render wrote: one complete envelope and nothing around it. Only tests need it: models read
// envelopes themselves.
func ParseEnvelope(delimiter, text string) (Envelope, error) {
	e, err := parse(delimiter, text)
	if err != nil {
		return Envelope{}, fmt.Errorf("parse envelope: %w", err)
	}
	return e, nil
}

func parse(delimiter, text string) (Envelope, error) {
	e := Envelope{Delimiter: delimiter}
	marks, gaps, err := split(delimiter, text)
	if err != nil {
		return e, err
	}
	last := len(marks) - 1
	if last < 1 || marks[last] != "end" {
		return e, errors.New("it has no end")
	}
	if err := e.readHead(marks[0]); err != nil {
		return e, err
	}
	if last == 1 { // at most one part, and that without a heading
		if text, ok := body(gaps[0]); ok {
			e.Parts = []EnvelopePart{{Text: text}}
		}
		return e, nil
	}
	if _, ok := body(gaps[0]); ok {
		return e, errors.New("text before the first part")
	}
	for i := 1; i < last; i++ {
		part, err := readHeading(marks[i])
		if err != nil {
			return e, err
		}
		text, ok := body(gaps[i])
		if !ok {
			return e, fmt.Errorf("part %d has no text", i)
		}
		part.Text = text
		e.Parts = append(e.Parts, part)
	}
	return e, nil
}

// split splits the text at its marks; gaps[i] is between marks i and i+1. The delimiter may occur only in
// marks.
func split(delimiter, text string) (marks, gaps []string, err error) {
	open := envelopeOpening + delimiter + between
	for {
		at := strings.Index(text, open)
		if at < 0 || len(marks) == 0 && at != 0 {
			return nil, nil, errors.New("text outside of the envelope")
		}
		gap := text[:at]
		mark, after, ok := strings.Cut(text[at+len(open):], closing)
		if !ok || strings.Contains(mark, "\n") || gap != "" && !strings.HasSuffix(gap, "\n") ||
			after != "" && after[0] != '\n' {
			return nil, nil, errors.New("a mark is not a line of its own")
		}
		if indexFold(gap, delimiter) >= 0 || indexFold(mark, delimiter) >= 0 {
			return nil, nil, errors.New("the delimiter stands outside of the marks")
		}
		if len(marks) > 0 {
			gaps = append(gaps, gap)
		}
		marks = append(marks, mark)
		if after == "" {
			return marks, gaps, nil
		}
		text = after
	}
}

// body removes the line ends of the two marks; ok is false if there is nothing, not even an empty text, between
// them.
func body(gap string) (text string, ok bool) {
	if len(gap) < 2 {
		return "", false
	}
	return gap[1 : len(gap)-1], true
}

func (e *Envelope) readHead(mark string) error {
	for _, f := range strings.Split(mark, between) {
		label, value, ok := strings.Cut(f, ": ")
		if !ok {
			return fmt.Errorf("field %q in the first line", f)
		}
		switch label {
		case "from":
			e.From, e.Name, _ = strings.Cut(value, " (")
			e.Name = strings.TrimSuffix(e.Name, ")")
		case "kind":
			e.Kind = value
		case "id":
			e.ID = value
		default:
			return fmt.Errorf("field %q in the first line", label)
		}
	}
	return nil
}

func readHeading(mark string) (EnvelopePart, error) {
	var p EnvelopePart
	fields := strings.Split(mark, between)
	if !strings.HasPrefix(fields[0], "part ") {
		return p, fmt.Errorf("mark %q", mark)
	}
	for _, f := range fields[1:] {
		if f == caution {
			p.Untrusted = true
			continue
		}
		label, value, ok := strings.Cut(f, ": ")
		switch {
		case !ok:
			p.Title = f
		case label == "from":
			p.From = value
		case label == "kind":
			p.Kind = value
		case label == "at":
			at, err := time.Parse(time.RFC3339, value)
			if err != nil {
				return p, err
			}
			p.At = at
		default:
			return p, fmt.Errorf("field %q of a part", label)
		}
	}
	return p, nil
}

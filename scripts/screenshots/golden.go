package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/arbiter-cli/arbiter/rehearsal/terminal"
)

// drawGoldens draws golden files of the screen's tests as pictures, out/NAME.svg each, so that a person can
// look at what the tests compare. Without names it draws all files of dir.
func drawGoldens(dir, out string, names []string) error {
	if len(names) == 0 {
		names = []string{"*"}
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	drawn := 0
	for _, name := range names {
		files, err := filepath.Glob(filepath.Join(dir, name+".golden"))
		if err != nil {
			return err
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			s, err := readGolden(string(raw))
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			base := strings.TrimSuffix(filepath.Base(file), ".golden")
			svg := s.SVG(terminal.Picture{Window: true, Label: base})
			if err := os.WriteFile(filepath.Join(out, base+".svg"), []byte(svg), 0o644); err != nil {
				return err
			}
			drawn++
		}
	}
	if drawn == 0 {
		return fmt.Errorf("no golden file in %s is named %s", dir, strings.Join(names, " or "))
	}
	return nil
}

// readGolden parses the format of package tuitest: a head, the rows, a letter for the style of each cell, and
// the meaning of the letters.
func readGolden(text string) (s terminal.Screen, err error) {
	head, rest, _ := strings.Cut(text, "\n")
	size, more, _ := strings.Cut(head, ", ")
	if _, err := fmt.Sscanf(size, "%dx%d", &s.Size.Columns, &s.Size.Rows); err != nil {
		return s, fmt.Errorf("size %q: %w", size, err)
	}
	if at, ok := strings.CutPrefix(more, "cursor at "); ok {
		_, err := fmt.Sscanf(at, "%d,%d", &s.Cursor.X, &s.Cursor.Y)
		s.Cursor.Visible = err == nil
	}
	if _, title, ok := strings.Cut(more, "title "); ok {
		if s.Title, err = strconv.Unquote(title); err != nil {
			return s, fmt.Errorf("title %s: %w", title, err)
		}
	}
	texts, rest, ok := strings.Cut(rest, "\nstyles\n")
	letters, legend, also := strings.Cut(rest, "\n\n")
	if !ok || !also {
		return s, fmt.Errorf("the part with the styles is missing")
	}
	styles := map[byte]terminal.Style{' ': terminal.Plain}
	for line := range strings.Lines(legend) {
		letter, words, ok := strings.Cut(strings.TrimSpace(line), " = ")
		if ok && len(letter) == 1 {
			styles[letter[0]] = readStyle(words)
		}
	}
	rows, marks := numbered(texts), numbered(letters)
	for y := range s.Size.Rows {
		s.Cells = append(s.Cells, cellsOf(rows[y], marks[y], s.Size.Columns, styles))
	}
	return s, nil
}

// numbered returns the lines that begin with a number, by that number.
func numbered(text string) map[int]string {
	lines := map[int]string{}
	for line := range strings.Lines(text) {
		number, row, _ := strings.Cut(strings.TrimLeft(strings.TrimRight(line, "\n"), " "), " ")
		if y, err := strconv.Atoi(number); err == nil {
			lines[y] = row
		}
	}
	return lines
}

func cellsOf(text, marks string, columns int, styles map[byte]terminal.Style) []terminal.Cell {
	style := func(x int) terminal.Style {
		if x < len(marks) {
			if s, ok := styles[marks[x]]; ok {
				return s
			}
		}
		return terminal.Plain
	}
	var row []terminal.Cell
	for g := uniseg.NewGraphemes(text); g.Next() && len(row) < columns; {
		width := max(g.Width(), 1)
		row = append(row, terminal.Cell{Text: g.Str(), Width: width, Style: style(len(row))})
		for ; width > 1; width-- {
			row = append(row, terminal.Cell{Style: style(len(row))})
		}
	}
	for len(row) < columns {
		row = append(row, terminal.Cell{Text: " ", Width: 1, Style: style(len(row))})
	}
	return row[:columns]
}

// readStyle parses a style such as "fg=#c8b273 bg=236 bold".
func readStyle(words string) terminal.Style {
	s := terminal.Plain
	for word := range strings.FieldsSeq(words) {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "fg":
			s.Fg = readColor(value)
		case "bg":
			s.Bg = readColor(value)
		case "bold":
			s.Bold = true
		case "dim":
			s.Faint = true
		case "italic":
			s.Italic = true
		case "underline":
			s.Underline = true
		case "reverse":
			s.Reverse = true
		case "strike":
			s.Strikeout = true
		}
	}
	return s
}

func readColor(text string) terminal.Color {
	if hex, ok := strings.CutPrefix(text, "#"); ok {
		if n, err := strconv.ParseUint(hex, 16, 24); err == nil {
			return terminal.RGB(uint8(n>>16), uint8(n>>8), uint8(n))
		}
	}
	if n, err := strconv.Atoi(text); err == nil {
		return terminal.Color(n)
	}
	return terminal.Default
}

package markdown

import "strings"

// dangling reports whether an incomplete line may still become a marker and should not be shown yet.
func dangling(s string) bool {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > 8 {
		return false
	}
	digits := 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	if digits > 0 {
		return digits < 4 && (digits == len(s) || digits+1 == len(s) && strings.IndexByte(".)", s[digits]) >= 0)
	}
	return s == "|" || strings.Trim(s, "-=*+#>~`_[") == ""
}

// closeOpen closes what a piece leaves open at its end: emphasis, code, the address of a link, the row
// below a table's head.
func closeOpen(s string) string {
	if strings.HasSuffix(s, "\n") {
		return s
	}
	if t, ok := closeTable(s); ok {
		return t
	}
	start := 0
	if i := strings.LastIndex(s, "\n\n"); i >= 0 {
		start = i + 2
	}
	columns, _ := indentation(s[start:])
	if columns > 3 {
		return s // code, most likely
	}
	return closeInline(s, start)
}

// closeTable completes an incomplete row below a table's head.
func closeTable(s string) (string, bool) {
	i := strings.LastIndexByte(s, '\n')
	row := s[i+1:]
	if i < 0 || len(row) > 1<<10 || strings.Trim(row, "|-: ") != "" || strings.IndexByte(row, '-') < 0 ||
		strings.IndexByte(row, '|') < 0 {
		return "", false
	}
	head := s[strings.LastIndexByte(s[:i], '\n')+1 : i]
	missing := len(splitRow(head)) - len(splitRow(row))
	if missing < 0 || missing > maxColumns || strings.IndexByte(head, '|') < 0 {
		return "", false
	}
	row = strings.TrimRight(row, "| ")
	if strings.HasSuffix(row, ":") && !strings.HasSuffix(row, "-:") {
		row += "-"
	}
	return s[:i+1] + row + "|" + strings.Repeat("-|", missing), true
}

// openMark is an opened run of markers.
type openMark struct {
	at int
	s  string
}

// maxOpen bounds how many open markers are closed.
const maxOpen = 8

// closeInline appends the ends of the markers that are open since start.
func closeInline(s string, start int) string {
	var open []openMark
	for i := start; i < len(s); {
		c := s[i]
		n := run(s[i:], c)
		switch c {
		case '\\':
			i += 2
			continue
		case '`':
			end := closingTicks(s[i+n:], n)
			if end < 0 {
				return closeCode(s, i, n, open)
			}
			i += n + end + n
			continue
		case '*', '_', '~':
			open = closeMark(s, i, n, open)
		case ']':
			if strings.HasPrefix(s[i:], "](") && !strings.ContainsAny(s[i:], ") \n") &&
				strings.IndexByte(s[start:i], '[') >= 0 {
				return s + ")" + closers(open)
			}
			n = 1
		}
		i += n
	}
	for len(open) > 0 && open[len(open)-1].at+len(open[len(open)-1].s) == len(s) {
		s = s[:open[len(open)-1].at]
		open = open[:len(open)-1]
	}
	trimmed := strings.TrimRight(s, " \t")
	if len(open) > 0 {
		s = trimmed
	}
	return s + closers(open)
}

// closeMark handles the run of n markers at i: it opens or closes.
func closeMark(s string, i, n int, open []openMark) []openMark {
	if s[i] == '~' && n != 2 || n > 3 {
		return open
	}
	space := func(at int) bool { return at < 0 || at >= len(s) || strings.IndexByte(" \t\n", s[at]) >= 0 }
	if !space(i - 1) {
		for j := len(open) - 1; j >= 0; j-- {
			if open[j].s == s[i:i+n] {
				return open[:j]
			}
		}
		for n > 0 && len(open) > 0 && open[len(open)-1].s[0] == s[i] {
			last := &open[len(open)-1]
			if len(last.s) > n {
				if i+n == len(s) {
					last.s = last.s[n:] // the end is incomplete: **bold*
					return open
				}
				break
			}
			n -= len(last.s)
			i += len(last.s)
			open = open[:len(open)-1]
		}
		if n == 0 {
			return open
		}
		if s[i] == '_' {
			return open
		}
	}
	if space(i+n) && i+n < len(s) || len(open) >= maxOpen {
		return open
	}
	if i+n == len(s) && !space(i-1) {
		return open
	}
	return append(open, openMark{i, s[i : i+n]})
}

// closeCode closes code that is open since i.
func closeCode(s string, i, n int, open []openMark) string {
	rest := s[i+n:]
	if strings.TrimSpace(rest) == "" {
		return strings.TrimRight(s[:i], " ") + closers(open)
	}
	// An incomplete closing run.
	if ticks := len(rest) - len(strings.TrimRight(rest, "`")); ticks > 0 && ticks < n {
		return s + strings.Repeat("`", n-ticks) + closers(open)
	}
	return s + strings.Repeat("`", n) + closers(open)
}

// closingTicks finds a run of exactly n backticks.
func closingTicks(s string, n int) int {
	for i := 0; i < len(s); {
		j := strings.IndexByte(s[i:], '`')
		if j < 0 {
			return -1
		}
		i += j
		k := run(s[i:], '`')
		if k == n {
			return i
		}
		i += k
	}
	return -1
}

// closers returns the ends of the open markers, the last one first.
func closers(open []openMark) string {
	var b strings.Builder
	for i := len(open) - 1; i >= 0; i-- {
		b.WriteString(open[i].s)
	}
	return b.String()
}

package contract

import (
	"fmt"
	"strings"
)

// Roman returns the number of an Orchestrator: I, II, III …. Numbers that have no Roman numeral are
// written in digits.
func Roman(n int) string {
	if n <= 0 || n > 3999 {
		return fmt.Sprint(n)
	}
	var b strings.Builder
	for _, d := range []struct {
		value int
		text  string
	}{
		{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"},
		{50, "L"}, {40, "XL"}, {10, "X"}, {9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"},
	} {
		for n >= d.value {
			b.WriteString(d.text)
			n -= d.value
		}
	}
	return b.String()
}

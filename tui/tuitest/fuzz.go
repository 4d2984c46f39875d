package tuitest

// Keys makes names of keys out of random bytes, for fuzz targets: every byte is one,
// and all that a keyboard has are among them.
func Keys(data []byte) []string {
	names := make([]string, 0, len(data))
	for _, b := range data {
		names = append(names, keyOf(b))
	}
	return names
}

var others = append([]string{"Shift+Tab", "Shift+Enter", "Ctrl+Alt+M", "Alt+b", "Alt+f", "Ctrl+_", "é", "世"}, Names...)

func keyOf(b byte) string {
	switch {
	case b > ' ' && b < 0x7f:
		return string(rune(b))
	case b > 0 && b <= 26:
		return "Ctrl+" + string(rune('A'+b-1))
	}
	return others[int(b)%len(others)]
}

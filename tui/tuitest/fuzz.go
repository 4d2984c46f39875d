package tuitest

import "slices"

// Keys makes names of keys from random bytes, for fuzz targets: every byte stands for one, and all keys of
// a keyboard are among them.
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

// Encode returns the bytes that Keys reads as these keys. It panics for a name that no byte stands for.
func Encode(names ...string) []byte {
	data := make([]byte, 0, len(names))
	for _, name := range names {
		at := slices.IndexFunc(everyByte(), func(b byte) bool { return keyOf(b) == name })
		if at < 0 {
			panic("no byte stands for the key " + name)
		}
		data = append(data, byte(at))
	}
	return data
}

func everyByte() []byte {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return all
}

package proctree

import (
	"bytes"
	"encoding/binary"
)

// environOf finds the environment in the result of kern.procargs2 of macOS: the number of arguments, the
// program's path, NULs up to an aligned address, the arguments, the environment, an empty string. It
// returns nil if the data is invalid.
func environOf(args []byte) []byte {
	if len(args) < 4 {
		return nil
	}
	argc := int32(binary.NativeEndian.Uint32(args))
	rest := args[4:]
	end := bytes.IndexByte(rest, 0)
	if argc < 0 || end < 0 {
		return nil
	}
	rest = bytes.TrimLeft(rest[end:], "\x00")
	for range argc {
		end := bytes.IndexByte(rest, 0)
		if end < 0 {
			return nil
		}
		rest = rest[end+1:]
	}
	if end := bytes.Index(rest, []byte{0, 0}); end >= 0 {
		rest = rest[:end+1]
	}
	return rest
}

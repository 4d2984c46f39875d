package proctree

import (
	"encoding/binary"
	"testing"
)

func TestEnvironOf(t *testing.T) {
	args := func(argc uint32, rest string) []byte {
		return append(binary.NativeEndian.AppendUint32(nil, argc), rest...)
	}
	for _, tt := range []struct {
		name string
		args []byte
		want string
	}{
		{"usual", args(2, "/bin/sleep\x00\x00\x00\x00sleep\x001000\x00A=1\x00ARBITER_RUN=r\x00\x00ptr_munge=\x00"),
			"A=1\x00ARBITER_RUN=r\x00"},
		{"an empty argument", args(2, "/bin/x\x00\x00x\x00\x00A=1\x00\x00"), "A=1\x00"},
		{"environment hidden", args(1, "/bin/x\x00x\x00"), ""},
		{"cut off in the arguments", args(3, "/bin/x\x00x\x00y"), ""},
		{"no path", args(1, "nothing"), ""},
		{"negative", args(0xffffffff, "/bin/x\x00x\x00A=1\x00"), ""},
		{"short", []byte{1, 0}, ""},
	} {
		if got := string(environOf(tt.args)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

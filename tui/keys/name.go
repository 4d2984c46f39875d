package keys

import (
	"strings"

	"github.com/gdamore/tcell/v2"
)

var special = map[tcell.Key]string{
	tcell.KeyEnter: "Enter", tcell.KeyTab: "Tab", tcell.KeyBacktab: "Shift+Tab", tcell.KeyEsc: "Esc",
	tcell.KeyBackspace: "Backspace", tcell.KeyBackspace2: "Backspace", tcell.KeyDelete: "Delete",
	tcell.KeyInsert: "Insert", tcell.KeyUp: "Up", tcell.KeyDown: "Down", tcell.KeyLeft: "Left", tcell.KeyRight: "Right",
	tcell.KeyHome: "Home", tcell.KeyEnd: "End", tcell.KeyPgUp: "PgUp", tcell.KeyPgDn: "PgDn",
	tcell.KeyCtrlSpace: "Ctrl+Space", tcell.KeyCtrlUnderscore: "Ctrl+_", tcell.KeyCtrlBackslash: `Ctrl+\`,
	tcell.KeyCtrlRightSq: "Ctrl+]", tcell.KeyCtrlCarat: "Ctrl+^",
}

// Name returns the name of a key in the table: "j", "G", "Ctrl+D", "Alt+Enter", "PgUp", "F1", "Space".
func Name(e *tcell.EventKey) string {
	var b strings.Builder
	mod := e.Modifiers()
	base, plain := special[e.Key()]
	switch k := e.Key(); {
	case k == tcell.KeyRune:
		base = string(e.Rune())
		if base == " " {
			base = "Space"
		}
		mod &^= tcell.ModShift // it is in the letter
		if mod&tcell.ModCtrl != 0 {
			base = strings.ToUpper(base)
		}
	case plain:
		if strings.HasPrefix(base, "Ctrl+") {
			mod &^= tcell.ModCtrl
		}
		if k == tcell.KeyBacktab {
			mod &^= tcell.ModShift
		}
		if k < ' ' { // terminals send control characters for some keys: Enter is Ctrl+M
			mod &^= tcell.ModCtrl
		}
	case k >= tcell.KeyCtrlA && k <= tcell.KeyCtrlZ:
		base = "Ctrl+" + string(rune('A'+k-tcell.KeyCtrlA))
		mod &^= tcell.ModCtrl
	case k >= tcell.KeyF1 && k <= tcell.KeyF64:
		base = tcell.KeyNames[k]
	default:
		base = e.Name()
		mod = 0
	}
	if k := e.Key(); k == tcell.KeyRune && mod&tcell.ModCtrl != 0 && mod&tcell.ModAlt != 0 && base == "M" {
		base, mod = "Enter", tcell.ModAlt // what terminals without the extended keyboard protocols send
	}
	for _, m := range []struct {
		mask tcell.ModMask
		name string
	}{{tcell.ModCtrl, "Ctrl+"}, {tcell.ModAlt, "Alt+"}, {tcell.ModMeta, "Alt+"}, {tcell.ModShift, "Shift+"}} {
		if mod&m.mask != 0 && !strings.HasPrefix(b.String(), m.name) {
			b.WriteString(m.name)
		}
	}
	return b.String() + base
}

package render

// Glyphs are the marks used for drawing. Each is one column wide.
type Glyphs struct {
	Done, Current, Pending, Failed, Skipped string // of a step of the plan

	Gutter            string // at the left of a party's text
	GutterMarked      string // the same under the cursor
	Folded, Unfolded  string
	Ellipsis          string
	Bullet            string
	Arrow             string
	Separator         string // between two words of a status line
	Prompt            string
	Dot, DotLit       string   // of a quiet row of dots
	Full, Empty       string   // of a meter
	Parts             []string // of a cell of a meter, from little to much; empty: whole cells only
	Spinner           []string // frames of a quiet animation
	Horizontal        string
	Vertical          string
	TopLeft, TopRight string
	BottomLeft        string
	BottomRight       string
	Branch, LastLeaf  string     // of a tree
	Chosen            string     // before the selected row
	More, Less        string     // there is more below, above
	Drawn             [][]string // the sigil, see drawn, the largest first; nil: it is computed
}

// Unicode are the glyphs of a terminal with UTF-8.
var Unicode = &Glyphs{
	Done: "✓", Current: "◆", Pending: "○", Failed: "✗", Skipped: "–",
	Gutter: "▌", GutterMarked: "█", Folded: "▸", Unfolded: "▾", Ellipsis: "…", Bullet: "•", Arrow: "→", Separator: "·",
	Prompt: "›", Full: "━", Empty: "─", Parts: []string{"╸"}, // lines: bars of two rows do not touch
	Spinner:    []string{"⠁", "⠂", "⠄", "⡀", "⢀", "⠠", "⠐", "⠈"},
	Horizontal: "─", Vertical: "│", TopLeft: "╭", TopRight: "╮", BottomLeft: "╰", BottomRight: "╯",
	Branch: "├", LastLeaf: "└",
	Dot: "·", DotLit: "•", Chosen: "▸", More: "↓", Less: "↑",
}

// ASCII are the glyphs of every other terminal.
var ASCII = &Glyphs{
	Done: "v", Current: ">", Pending: ".", Failed: "!", Skipped: "-",
	Gutter: "|", GutterMarked: "#", Folded: "+", Unfolded: "-", Ellipsis: "~", Bullet: "*", Arrow: ">", Separator: "-",
	Prompt: ">", Full: "#", Empty: ".",
	Spinner:    []string{"-", "\\", "|", "/"},
	Horizontal: "-", Vertical: "|", TopLeft: "+", TopRight: "+", BottomLeft: "+", BottomRight: "+",
	Branch: "|", LastLeaf: "`",
	Dot: ".", DotLit: "o", Chosen: ">", More: "v", Less: "^",
	Drawn: [][]string{sigilLarge, sigilSmall},
}

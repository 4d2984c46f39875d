package render

import "github.com/gdamore/tcell/v2"

// styles returns the style of every role.
func (p *palette) styles(colors int) (s [roles]tcell.Style) {
	m := mixer{colors}
	base := m.ink(p.text)
	s[Base], s[Input] = base, base
	s[Dim], s[Placeholder] = m.ink(p.dim), m.ink(p.dim)
	s[Strong], s[Emphasis], s[StrongEmphasis] = base.Bold(true), base.Italic(true), base.Bold(true).Italic(true)
	s[Strike] = m.ink(p.dim).StrikeThrough(true)
	s[Heading] = m.ink(p.gold).Bold(true)
	s[Quote] = m.ink(p.dim).Italic(true)
	s[Link] = m.ink(p.blue).Underline(true)

	s[Code] = m.ink(p.teal)
	s[CodeKeyword], s[CodeString], s[CodeNumber], s[CodeName] = m.ink(p.violet), m.ink(p.green), m.ink(p.orange),
		m.ink(p.blue)
	s[CodeComment] = m.ink(p.dim).Italic(true)
	s[DiffAdd], s[DiffRemove], s[DiffHunk] = m.ink(p.green), m.ink(p.red), m.ink(p.cyan)

	s[Frame], s[FrameFocus] = m.ink(p.frame), m.ink(p.gold)
	s[Title] = m.ink(p.bright).Bold(true)
	s[Sigil], s[Motto], s[Key] = m.ink(p.gold), m.ink(p.dim), m.ink(p.gold)
	s[SigilDim], s[SigilBright] = m.ink(p.frame), m.ink(p.bright).Bold(true)

	s[StatusBar], s[StatusBarStrong] = m.on(p.barText, p.bar), m.on(p.barStrong, p.bar).Bold(true)
	s[StatusBarDim] = m.on(p.barDim, p.bar)
	s[StatusBarAlert] = m.on(p.hereText, p.here).Bold(true)
	s[Selection] = m.on(p.markText, p.mark)
	s[Match], s[MatchAt] = m.on(p.foundText, p.found), m.on(p.hereText, p.here).Bold(true)
	s[ChoiceKey] = m.on(p.barStrong, p.bar).Bold(true)
	s[Choice], s[ChoiceFocus] = m.on(p.barText, p.bar), m.on(p.hereText, p.here).Bold(true)

	s[Alert] = m.ink(p.bright).Bold(true)
	s[Danger] = m.on(p.alarmText, p.alarm).Bold(true)
	s[Good], s[Warn], s[Bad] = m.ink(p.green), m.ink(p.orange).Bold(true), m.ink(p.red).Bold(true)
	s[Active], s[Pending] = m.ink(p.gold), m.ink(p.dim)
	s[Meter], s[MeterWarn], s[MeterBad], s[MeterEmpty] = m.ink(p.teal), m.ink(p.orange), m.ink(p.red), m.ink(p.frame)

	s[SpeakerHuman], s[SpeakerArbiter], s[SpeakerSupervisor] = m.ink(p.cyan).Bold(true), m.ink(p.gold).Bold(true),
		m.ink(p.dim)
	for i, hue := range []ink{p.violet, p.green, p.rose, p.blue, p.orange, p.teal} {
		s[SpeakerOrch1+Role(i)] = m.ink(hue)
	}
	return s
}

const monoName = "mono"

// mono distinguishes roles without any colour. Roles with equal styles differ by their text: a name, a
// mark, a sign before a line.
func mono() (s [roles]tcell.Style) {
	base := tcell.StyleDefault
	bold, dim, under, reverse := base.Bold(true), base.Dim(true), base.Underline(true), base.Reverse(true)
	for r := range s {
		s[r] = base
	}
	for _, r := range []Role{Dim, Placeholder, Strike, Quote, CodeComment, DiffRemove, Frame, Motto, SigilDim, Pending,
		MeterEmpty, SpeakerSupervisor} {
		s[r] = dim
	}
	for _, r := range []Role{Strong, CodeKeyword, DiffAdd, FrameFocus, Title, SigilBright, Key, Active, Good, MeterWarn,
		SpeakerArbiter} {
		s[r] = bold
	}
	for _, r := range []Role{Emphasis, Link, CodeName, Warn, SpeakerHuman} {
		s[r] = under
	}
	for _, r := range []Role{StrongEmphasis, Heading, DiffHunk, Bad, MeterBad, Match} {
		s[r] = bold.Underline(true)
	}
	s[Strike] = dim.StrikeThrough(true)
	s[StatusBar], s[StatusBarDim], s[Selection] = reverse, reverse, reverse
	s[Choice], s[ChoiceKey] = under, bold.Underline(true)
	for _, r := range []Role{StatusBarStrong, MatchAt, ChoiceFocus, Alert} {
		s[r] = reverse.Bold(true)
	}
	s[StatusBarAlert] = bold
	s[Danger] = reverse.Bold(true).Underline(true)
	return s
}

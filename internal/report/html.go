package report

import (
	_ "embed"
	"html/template"
	"regexp"
	"strings"
	"sync"

	"github.com/arbiter-cli/arbiter/supervisor/words"
)

//go:embed report.html
var htmlText string

var htmlTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Funcs(template.FuncMap{
		"usd": (*Report).usd, "tokens": func(r *Report) string { return words.Number(tokenCount(r.Usage)) },
		"criterion": Criterion.receipt, "check": Check.receipt, "ruling": Decision.ruling,
		"changed": (*Report).changed, "proved": (*Report).proved, "lasted": (*Report).lasted, "title": (*Report).title,
	}).Parse(htmlText))
})

// lineBegins matches a colon at the beginning of a line, where commands of CI systems have it.
var lineBegins = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(\s*):`)
})

// html returns the report as one page without scripts that loads nothing.
func (r *Report) html() (string, error) {
	var b strings.Builder
	err := htmlTemplate().Execute(&b, r)
	return lineBegins().ReplaceAllString(inLog(b.String(), "$1&#91;"), "$1&#58;"), err
}

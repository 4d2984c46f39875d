package tui

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/tui/view"
)

// attachment is an image of the person, with the mark that represents it in the text.
type attachment struct{ mark, path string }

// attachments are the images that were added to the input since the program started. A message has those
// whose marks are in its text, even if the text comes from the history.
type attachments []attachment

// of lists the paths of the images whose marks are in a text, in the order of the marks.
func (a attachments) of(text string) []string {
	var found []attachment
	for _, x := range a {
		if strings.Contains(text, x.mark) {
			found = append(found, x)
		}
	}
	slices.SortFunc(found, func(x, y attachment) int {
		return cmp.Compare(strings.Index(text, x.mark), strings.Index(text, y.mark))
	})
	var paths []string
	for _, x := range found {
		paths = append(paths, x.path)
	}
	return paths
}

// pasted handles a paste that is the path of an image file, as terminals paste a file that is dropped on
// them. If it cannot be sent as an image, it stays text.
func (p *prompt) pasted(text string) bool {
	path := imagePath(text)
	if path == "" || strings.HasPrefix(p.input.Text(), "/") || strings.HasPrefix(p.input.Text(), "!") {
		return false
	}
	p.attach(path, func(string) { p.input.Insert(text) })
	return true
}

// attach writes the mark of an image into the input. It calls failed with the reason if the image cannot be
// sent.
func (p *prompt) attach(path string, failed func(why string)) {
	p.d.f.work(func(context.Context) {
		absolute, size, err := p.d.f.options.Host.Image(path)
		p.d.f.post(func() {
			if err != nil {
				failed(err.Error())
				return
			}
			mark := fmt.Sprintf("[image %d: %s]", len(p.images)+1, size)
			p.images = append(p.images, attachment{mark, absolute})
			view.InsertMark(p.input, mark)
			p.write()
		})
	})
}

// imageCommand is /image.
func (cs *commands) imageCommand(c view.EditorCommand) bool {
	cs.d.f.post(func() { cs.d.prompt.attach(c.Arg(0), cs.d.flash) }) // after the command is removed from the input
	return true
}

// imagePath returns the path of an image file that a text consists of, without quotes, escapes and the
// scheme of a URL; empty if the text is something else.
func imagePath(text string) string {
	path := strings.TrimSpace(text)
	if n := len(path); n > 1 && (path[0] == '\'' || path[0] == '"') && path[n-1] == path[0] {
		path = path[1 : n-1]
	} else if rest, ok := strings.CutPrefix(path, "file://"); ok {
		rest, err := url.PathUnescape(rest)
		if err != nil {
			return ""
		}
		path = rest
	} else {
		path = strings.NewReplacer(`\ `, " ", `\(`, "(", `\)`, ")", `\'`, "'", `\&`, "&").Replace(path)
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
	default:
		return ""
	}
	if strings.ContainsAny(path, "\n\t") || !filepath.IsAbs(path) && !strings.HasPrefix(path, "~/") {
		return ""
	}
	return path
}

package clients

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// maxPrompt bounds a prompt, in bytes. It is also the limit for a message from the human.
const maxPrompt = 1 << 20

// promptText converts a prompt to the text that the Arbiter gets. It refuses content types that were not
// advertised.
func promptText(blocks []contentBlock) (string, error) {
	var b strings.Builder
	for _, c := range blocks {
		switch {
		case c.Type == "text":
			b.WriteString(c.Text)
		case c.Type == "resource_link" && c.URI != "":
			b.WriteString(placeACP(c.URI))
		case c.Type == "resource" && c.Resource != nil && c.Resource.Text != nil:
			fmt.Fprintf(&b, "\n\n%s:\n%s\n", placeACP(c.Resource.URI), words.Fenced(*c.Resource.Text))
		case c.Type == "resource":
			return "", fmt.Errorf("a prompt cannot contain a resource that is not text: name its file instead")
		default:
			return "", fmt.Errorf("a prompt cannot hold content of type %.40q: send text, or name a file", c.Type)
		}
	}
	text := strings.TrimSpace(b.String())
	switch {
	case text == "":
		return "", fmt.Errorf("the prompt is empty: say what is to be done")
	case len(text) > maxPrompt:
		return "", fmt.Errorf("the prompt has %d bytes; at most %d are accepted: put it into a file and name that",
			len(text), maxPrompt)
	}
	return text, nil
}

// placeACP returns a resource in a form that agents can open: a file by its path, anything else by its URI.
func placeACP(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return uri
	}
	if u.Fragment != "" {
		return u.Path + "#" + u.Fragment
	}
	return u.Path
}

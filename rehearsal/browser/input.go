package browser

import (
	"context"
	"encoding/json"
	"fmt"
)

// codes are the keys that tests press, with the browser's codes for them.
var codes = map[string]struct {
	number int
	text   string
}{
	"Tab": {9, ""}, "Enter": {13, "\r"}, "Escape": {27, ""}, " ": {32, " "}, "ArrowDown": {40, ""}, "End": {35, ""},
}

// Press presses a key, like a person.
func (p *Page) Press(ctx context.Context, key string, shift bool) error {
	code, ok := codes[key]
	if !ok {
		return fmt.Errorf("no key %q", key)
	}
	modifiers := 0
	if shift {
		modifiers = 8
	}
	down := map[string]any{"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code.number,
		"modifiers": modifiers}
	if key == " " {
		down["code"] = "Space"
	}
	if code.text != "" {
		down["text"] = code.text
	}
	if err := p.call(ctx, "Input.dispatchKeyEvent", down, nil); err != nil {
		return err
	}
	up := map[string]any{"type": "keyUp", "key": key, "code": down["code"], "windowsVirtualKeyCode": code.number,
		"modifiers": modifiers}
	return p.call(ctx, "Input.dispatchKeyEvent", up, nil)
}

// Type types a text at the focus.
func (p *Page) Type(ctx context.Context, text string) error {
	return p.call(ctx, "Input.insertText", map[string]any{"text": text}, nil)
}

// Node is what a screen reader reads of one element of the page.
type Node struct {
	Role, Name string
	Properties map[string]string // focusable, level, …
}

// Tree returns what a screen reader reads of the page, in reading order.
func (p *Page) Tree(ctx context.Context) ([]Node, error) {
	type value struct {
		Value json.RawMessage `json:"value"`
	}
	var r struct {
		Nodes []struct {
			Ignored    bool  `json:"ignored"`
			Role       value `json:"role"`
			Name       value `json:"name"`
			Properties []struct {
				Name  string `json:"name"`
				Value value  `json:"value"`
			} `json:"properties"`
		} `json:"nodes"`
	}
	if err := p.call(ctx, "Accessibility.getFullAXTree", map[string]any{}, &r); err != nil {
		return nil, err
	}
	text := func(v value) string {
		var s string
		if json.Unmarshal(v.Value, &s) != nil {
			return string(v.Value)
		}
		return s
	}
	var list []Node
	for _, n := range r.Nodes {
		if n.Ignored {
			continue
		}
		node := Node{Role: text(n.Role), Name: text(n.Name), Properties: map[string]string{}}
		for _, x := range n.Properties {
			node.Properties[x.Name] = text(x.Value)
		}
		list = append(list, node)
	}
	return list, nil
}

package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Page is a tab. Its methods are safe for concurrent use.
type Page struct {
	b       *Browser
	place   string // the profile
	session string

	mu       sync.Mutex
	requests []string // URLs, in the order in which they were requested
	problems []string
}

// Open opens an address in a browser profile of its own, without cookies.
func (b *Browser) Open(ctx context.Context, url string) (*Page, error) {
	var place struct {
		ID string `json:"browserContextId"`
	}
	if err := b.call(ctx, "", "Target.createBrowserContext", map[string]any{}, &place); err != nil {
		return nil, err
	}
	return b.open(ctx, place.ID, url)
}

// Tab opens another page in a tab beside this one: they share cookies, storage and connections.
func (p *Page) Tab(ctx context.Context, url string) (*Page, error) {
	return p.b.open(ctx, p.place, url)
}

func (b *Browser) open(ctx context.Context, place, url string) (*Page, error) {
	var target struct {
		ID string `json:"targetId"`
	}
	err := b.call(ctx, "", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": place},
		&target)
	if err != nil {
		return nil, err
	}
	var session struct {
		ID string `json:"sessionId"`
	}
	err = b.call(ctx, "", "Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true}, &session)
	if err != nil {
		return nil, err
	}
	p := &Page{b: b, place: place, session: session.ID}
	b.mu.Lock()
	b.pages[p.session] = p
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Network", "Log", "Accessibility"} {
		if err := p.call(ctx, domain+".enable", nil, nil); err != nil {
			return nil, err
		}
	}
	return p, p.Go(ctx, url)
}

func (p *Page) call(ctx context.Context, method string, params, result any) error {
	return p.b.call(ctx, p.session, method, params, result)
}

// Go opens an address in the page.
func (p *Page) Go(ctx context.Context, url string) error {
	var r struct {
		Error string `json:"errorText"`
	}
	if err := p.call(ctx, "Page.navigate", map[string]any{"url": url}, &r); err != nil {
		return err
	}
	if r.Error != "" {
		return errors.New(r.Error)
	}
	return nil
}

// handleEvent handles an event of the protocol, on the goroutine that reads: it makes no calls.
func (p *Page) handleEvent(m message) {
	var e struct {
		Request struct {
			URL string `json:"url"`
		} `json:"request"`
		Entry struct {
			Level string `json:"level"`
			Text  string `json:"text"`
		} `json:"entry"`
		Exception struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
		Message string `json:"message"` // of a dialog
		Type    string `json:"type"`    // of a console message
		Args    []struct {
			Description string `json:"description"`
		} `json:"args"`
	}
	if json.Unmarshal(m.Params, &e) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch m.Method {
	case "Network.requestWillBeSent":
		p.requests = append(p.requests, e.Request.URL)
	case "Log.entryAdded":
		if e.Entry.Level == "error" {
			p.problems = append(p.problems, e.Entry.Text)
		}
	case "Runtime.exceptionThrown":
		p.problems = append(p.problems, e.Exception.Text+" "+e.Exception.Exception.Description)
	case "Runtime.consoleAPICalled":
		if e.Type == "error" {
			p.problems = append(p.problems, fmt.Sprintf("the console: %v", e.Args))
		}
	case "Page.javascriptDialogOpening":
		p.problems = append(p.problems, "a dialog: "+e.Message)
	}
}

// Requests returns the URLs that the page has requested.
func (p *Page) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Problems returns errors of scripts, violations of the content policy, and dialogs of scripts.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.problems)
}

// Eval evaluates an expression, waits for it if it is a promise, and reads its value into out, which may be nil.
func (p *Page) Eval(ctx context.Context, expression string, out any) error {
	var r struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	err := p.call(ctx, "Runtime.evaluate", map[string]any{
		"expression": expression, "awaitPromise": true, "returnByValue": true,
	}, &r)
	switch {
	case err != nil:
		return err
	case r.Exception != nil:
		return fmt.Errorf("%.200s: %s %s", expression, r.Exception.Text, r.Exception.Exception.Description)
	case out == nil || len(r.Result.Value) == 0:
		return nil
	}
	return json.Unmarshal(r.Result.Value, out)
}

// Until waits until an expression is true; it is evaluated again and again while the page runs.
func (p *Page) Until(ctx context.Context, expression string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		var met bool
		err := p.Eval(ctx, "Boolean("+expression+")", &met)
		if met || ctx.Err() != nil {
			return err
		}
		select {
		case <-tick.C: // while a page is loading, the answer is an error
		case <-ctx.Done():
			var body string
			within, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			_ = p.Eval(within, "document.body.innerText", &body)
			cancel()
			return fmt.Errorf("never met: %s; the page shows\n%s\nproblems: %q", expression, body, p.Problems())
		}
	}
}

// Look is how a page is shown.
type Look struct {
	Width, Height int
	Dark          bool
}

// Show sets the size and the colors.
func (p *Page) Show(ctx context.Context, l Look) error {
	scheme := "light"
	if l.Dark {
		scheme = "dark"
	}
	return errors.Join(
		p.call(ctx, "Emulation.setDeviceMetricsOverride", map[string]any{
			"width": l.Width, "height": l.Height, "deviceScaleFactor": 1, "mobile": l.Width < 700,
		}, nil),
		p.call(ctx, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
			{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"},
		}}, nil))
}

package clients

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// mcpConn is the connection to an MCP client: lines on in and out. The SDK's transport ends at the first line that is
// not one message; this one answers such a line with an error, and goes on. It takes several messages on a line, a
// batch, and a byte order mark.
type mcpConn struct {
	lines *jsonl.LineReader
	rest  []byte // of what the transport reads next

	mu  sync.Mutex // guards out: the SDK writes a message at once
	out io.Writer
}

// MCPLines is the transport to a client that sends lines on in and reads them on out, which stay open.
func MCPLines(in io.Reader, out io.Writer) mcp.Transport {
	c := &mcpConn{lines: jsonl.NewLineReader(in, 0), out: out}
	return &mcp.IOTransport{Reader: c, Writer: c}
}

// Read implements io.Reader: it reads valid messages, a line each.
func (c *mcpConn) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		line, err := c.lines.NextOrLast()
		if err != nil {
			return 0, err
		}
		if line.Oversize {
			c.refuse("the line is too long")
			continue
		}
		c.take(bytes.TrimPrefix(line.Data, []byte("\ufeff")))
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// take keeps the messages of a line.
func (c *mcpConn) take(line []byte) {
	dec := json.NewDecoder(bytes.NewReader(line))
	for {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err == io.EOF {
			return
		} else if err != nil {
			c.refuse(err.Error())
			return
		}
		messages := []json.RawMessage{raw}
		if raw[0] == '[' {
			if err := json.Unmarshal(raw, &messages); err != nil {
				c.refuse(err.Error())
				continue
			}
		}
		for _, m := range messages {
			var flat bytes.Buffer
			if _, err := jsonrpc.DecodeMessage(m); err != nil {
				c.refuse(err.Error())
			} else if json.Compact(&flat, m) == nil { // it was decoded
				c.rest = append(append(c.rest, flat.Bytes()...), '\n')
			}
		}
	}
}

// refuse answers a line that is not a message.
func (c *mcpConn) refuse(why string) {
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil,
		"error": map[string]any{"code": jsonrpc.CodeParseError, "message": "not a message of JSON-RPC: " + why}})
	if err == nil {
		_, _ = c.Write(append(raw, '\n')) // the next read finds out whether the client has gone
	}
}

// Write implements io.Writer.
func (c *mcpConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.Write(p)
}

// Close implements io.Closer: the streams belong to the caller.
func (c *mcpConn) Close() error { return nil }

// Package clients serves runs to other programs: editors over ACP, agents over MCP, and a browser. Each is a
// client of the control socket of a run: what it shows comes as events, and what it does is asked for.
package clients

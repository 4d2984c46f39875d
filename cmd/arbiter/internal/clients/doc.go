// Package clients has the faces of a run other than the screen: editors over ACP, agents over MCP, a browser, and
// lines of prose. Each is a client of the control socket of a run: what it shows comes as events, and what it does is
// asked for. It also has what the screen needs of processes, files and the terminal: [ScreenHost] is a [tui.Host].
package clients

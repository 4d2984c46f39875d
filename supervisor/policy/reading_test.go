package policy

import (
	"encoding/json"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
)

// TestOnlyReads: what changes no file, and what commits. In doubt a call changes something.
func TestOnlyReads(t *testing.T) {
	for line, want := range map[string]struct{ reads, commits bool }{
		"git log --oneline | head -5":              {true, true},
		"cd src && ls -la && cat a.go 2>/dev/null": {true, true},
		"grep -rn x . | sort | uniq -c":            {true, true},
		"find . -name '*.go'":                      {true, true},
		"wc -l < /dev/tcp/host/1":                  {false, false}, // so does any other file: in doubt, it does not read
		"git add -A && git commit -qm 'x y'":       {false, true},
		"rm -f a":                                  {false, false},
		"printf ho > a.txt":                        {false, false},
		"find . -delete":                           {false, false},
		"find . -exec rm {} +":                     {false, false},
		"sort -o a a":                              {false, false},
		"git log --output=a":                       {false, false},
		"git checkout main":                        {false, false},
		"go test ./...":                            {false, false},
		"bash -c 'cat a'":                          {false, false},
		"eval cat a":                               {false, false},
		"cat $(touch a)":                           {false, false},
		"./cat a":                                  {false, false},
		"PATH=. cat a":                             {false, false},
		"find . $X":                                {false, false},
		"git log $(cat a)":                         {false, false},
		"sort \"$X\"":                              {false, false},
		"sort a | uniq - b":                        {false, false},
		"uniq -f 1 a b":                            {false, false},
		"date -s 12:00":                            {false, false},
		"date --set=now":                           {false, false},
		"rg --pre ./a x":                           {false, false},
		"git grep -O./a x":                         {false, false},
		"git grep --open-files-in-pager=./a x":     {false, false},
		"file -C -m a":                             {false, false},
		"sort a | uniq -c | head":                  {true, true},
		"echo \"$X\" && ls -sS":                    {true, true},
	} {
		input, _ := json.Marshal(map[string]string{"command": line})
		p, r := Policy{CWD: "/w", Home: "/h"}, Request{Tool: "Bash", Input: input}
		if reads, commits := p.OnlyReads(r, false), p.OnlyReads(r, true); reads != want.reads || commits != want.commits {
			t.Errorf("%s: reads %v, commits %v", line, reads, commits)
		}
	}
	p := Policy{CWD: "/w"}
	for tool, want := range map[string]bool{
		"Read": true, "Grep": true, "Write": false, "NotebookEdit": false, "Agent": false, "mcp__db__drop": false,
		"mcp__arbiter__ask_predecessor": true, bridge.VerdictTool: true, "Monitor": false,
	} {
		if got := p.OnlyReads(Request{Tool: tool, Input: json.RawMessage(`{}`)}, true); got != want {
			t.Errorf("%s: reads %v", tool, got)
		}
	}
}

package policy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestHarmlessCommands(t *testing.T) {
	p := Policy{CWD: "/w", Home: "/home/u", Resolve: linked}
	for _, command := range []string{
		"pwd", "ls", "ls -la", "ls -la src", "ls --color=never /w/src", "ls -I '*.o' src", "cat a.go",
		"cat -n a.go b.go", "cat < /dev/null", "cat", "head -n 5 a.go", "head -20 a.go", "tail -n +3 a.go",
		"wc -l a.go", "echo hello", "echo -n 'a; rm -rf /'", `echo "it's"`, "echo a\\;b", "printf '%s\\n' x", "true",
		"false", "date", "date +%F", "date -u +%s", "date -d yesterday +%F", "whoami", "id", "id -un", "uname -a",
		"which go", "type ls", "stat a.go", "file a.go", "du -sh src", "df -h", "tree -L 2 src", "sort -u a.go",
		"sort -k 2 -t , a", "sort -k2,2n a", "uniq -c a", "cut -d: -f1 a", "grep -rn 'func main' src",
		"grep /api/v1 a.go", "grep -e /x -e ../y a", "grep -r --include='*.go' x .", "rg --files src",
		"rg -n '/etc' src", "rg -g '*.go' x", "diff --no-dereference a b", "cmp a b", "basename /x/y", "dirname /x/y",
		"realpath src", "sleep 0.5", "test -f a", "[ -f a ]", "[ a = b ]", "cat a | grep x | wc -l", "ls && pwd",
		"ls; pwd", "ls || true", "ls 2>/dev/null", "ls > /dev/null 2>&1", "ls 2>&1 | head -5", "  ls   -la  ", "ls\n",
		"git status", "git status -sb --porcelain", "git --no-pager log --oneline -5",
		"git log -n 3 --format='%h %s' -- src/a.go", "git log main..feature", "git diff --no-ext-diff --no-textconv",
		"git diff --stat HEAD~1", "git diff --name-only --cached -- a.go", "git show HEAD:a.go", "git show --stat",
		"git rev-parse --abbrev-ref HEAD", "git branch", "git branch -a", "git branch --show-current",
		"git branch --list 'x*'", "git stash list", "git ls-files", "git blame --no-textconv a.go", "git remote -v",
		"git tag", "git tag -l 'v*'", "find . -name '*.go'", "find src -type f -not -path '*/x/*' -maxdepth 3",
		"find . \\( -name a -o -name b \\) -print", "find", "cat src/../a.go", "cat /w/a.go", "cat ./in/a",
		"tr a-z A-Z < /dev/null", "'ls' -l", "l's'", "git status;", // an empty part is none
	} {
		if !p.Harmless(Request{Tool: "Bash", Input: bashInput(command)}) {
			t.Errorf("%q is called harmful", command)
		}
	}
	for _, command := range []string{
		"", " ", ";", "rm x", "touch x", "mv a b", "make", "go test", "sed -n 1p a", "awk 1 a", "tee x", "env",
		"printenv", "ps aux", "jq . a", "python x", "sh x", "xargs cat", "command ls", "sudo ls", "time ls", "! ls",
		"cd src", "cd src && ls", "export A=1", "A=1 ls", "A=1", "exit", "eval ls", "exec ls", ". ./x", "source x",
		"/bin/ls", "./ls", "../ls", "LS", "ls $X", "ls *", "ls *.go", "ls {a,b}", "ls [ab]", "ls ?", "ls $(pwd)",
		"ls `pwd`", "ls <(pwd)", "echo $HOME", "echo $ANTHROPIC_API_KEY", `echo "$X"`, "echo ${X}", "echo $'x'",
		"echo ~/*", "ls > x", "ls >> x", "ls >| x", "ls &> x", "ls >& x", "ls 2> x", "ls > /dev/null > x",
		"ls > /dev/nullx", "ls > '/dev/null'x", "ls >&2x", "cat < a", "cat <<E\nx\nE", "cat <<< x", "ls <> x",
		"ls &", "ls & pwd", "ls\nrm x", "ls\npwd", "ls\rrm x", "ls # x", "(ls)", "{ ls; }", "ls; rm x", "ls && rm x",
		"ls || rm x", "ls | sh", "ls |& tee x", "ls;rm x", "if ls; then pwd; fi", "ls() { rm x; }; ls", "ls 'x",
		`ls "x`, `ls \`, "ls \x00", "ls '\x00'", "cat /etc/passwd", "cat ../x", "cat ~/x", "cat '~/x'", "cat ~root/x",
		"cat src/../../x", "cat /w2/x", "cat out/x", "cat out", "cat bad/x", "cat -- /etc/passwd", "cat a /etc/passwd",
		"head -n 1 /etc/passwd", "head -c /etc/passwd", "ls /", "ls /w/..", "du /", "tree /", "stat /etc",
		"wc -l < /etc/passwd", "realpath ../x", "test -f /etc/passwd", "[ -f /etc/passwd ]", "[ -f a", "[",
		"grep x /etc/passwd", "grep -e x /etc/passwd", "grep -f /etc/passwd a", "grep -f a b", "grep -ex /etc/passwd",
		"grep --regexp=x /etc/passwd", "grep -R x .", "grep --dereference-recursive x", "grep --file=a b",
		"grep -r x ..", "grep -nfa b", "rg --pre=sh x", "rg --pre sh x", "rg -L x", "rg --follow x", "rg -z x",
		"rg --files /etc", "rg -f a", "rg x /etc", "rg --hostname-bin=x y", "rg --search-zip x",
		"sort -o a b", "sort -oa b", "sort -uo a b", "sort --output=a b", "sort --outpu=a b",
		"sort --compress-program=sh a", "sort --files0-from=a", "sort -T /x a", "sort /etc/passwd", "tree -o x",
		"tree -R -L 1", "tree -l", "tree --fromfile x", "uniq a b", "file -C -m x", "file -f a", "file -z a",
		"wc --files0-from=a", "du --files0-from=a", "du -X a", "du -L .", "diff a b", "diff -r a b",
		"diff --no-dereference -r a b", "diff --no-dereference a /etc/passwd", "diff --to-file=/etc/passwd a",
		"date -s x", "date --set=x", "date 010100002030", "date -f a", "date -r /etc/passwd", "sleep $X", "sleep x",
		"printf -v x y", "printf", "id -Z", "ls --unknown", "cat --unknown", "head -n", "xxd a b", "hostname x",
		"which -x", "ls -- ../x", "md5sum -c a", "tail --pid=1 a", "git", "git commit", "git commit -m x", "git push",
		"git checkout x", "git -C /x status", "git -c core.pager=sh log", "git --git-dir=/x log",
		"git --exec-path=/x log", "git -p log", "git diff --output=x", "git diff --ext-diff", "git diff --no-index a b",
		"git diff --textconv", "git diff -O x", "git diff /etc/passwd /dev/null", "git log --output=x",
		"git log --format=%G?", "git log --show-signature", "git branch new", "git branch -d x", "git branch -D x",
		"git branch -m a b", "git branch -v new", "git branch --sort=x new", "git branch --set-upstream-to=x",
		"git branch --edit-description", "git stash", "git stash list -p", "git stash pop",
		"git stash list; git stash drop", "git tag v1", "git tag -d v1", "git tag -a v1", "git remote add x y",
		"git remote show origin", "git config --list", "git blame --contents=/etc/passwd a",
		"git blame -S /etc/passwd a", "git grep -O x", "git status x /etc", "git show ../x", "git rev-parse --parseopt",
		"git show @{u}", "git reflog expire", "git-status", "git 'status --x'", "git status --ignore-submodules",
		"git \\\nstatus", "find . -exec rm {} \\;", "find . -execdir x \\;", "find . -ok x \\;", "find . -okdir x \\;",
		"find . -delete", "find . -fls x", "find . -fprint x", "find . -fprint0 x", "find . -fprintf x y", "find -L .",
		"find -H .", "find / -name x", "find .. -name x", "find . /etc", "find . -name x /etc",
		"find . -newer /etc/passwd", "find . -name *.go", "find . -name", "find -files0-from x", "find ~ -name x",
		"find out", "ｌｓ", "ls\u00a0-la", "lѕ", "ls \u2028rm", "cat ..\u2215etc", "echo x | tee y", "cat a | dd of=x",
		"type -P x", "ls\t; rm x", "ls ;; rm x", "ls && ", "&& ls", "ls |", "coproc ls", "then ls", "ls %1 &",
	} {
		// For the shell, characters beyond ASCII are neither spaces nor slashes: as parts of file names of the
		// working directory they are harmless.
		if command == "ls \u2028rm" || command == "cat ..\u2215etc" {
			continue
		}
		if p.Harmless(Request{Tool: "Bash", Input: bashInput(command)}) {
			t.Errorf("%q is called harmless", command)
		}
	}
}

func TestHarmlessTools(t *testing.T) {
	p := Policy{Mode: ModeRules, CWD: "/w", Home: "/home/u", Resolve: linked, Deny: mustRules(t, "Read")}
	for _, tt := range []struct {
		tool  string
		input json.RawMessage
		want  bool
	}{
		{"Read", input("file_path", "a"), true},
		{"Read", input("file_path", "/etc/passwd"), false},
		{"Read", input("file_path", "out/x"), false},
		{"Grep", input("pattern", "x"), true},
		{"TodoWrite", input(), true},
		{"Edit", input("file_path", "a"), false},
		{"WebFetch", input("url", "https://example.com"), false},
		{"mcp__a__b", input(), false},
		{"Strange", input(), false},
		{"Bash", json.RawMessage(`{"command":"ls","dangerouslyDisableSandbox":true}`), false},
		{"Bash", json.RawMessage(`{"command":7}`), false},
		{"Bash", json.RawMessage(`{`), false},
		{"Bash", json.RawMessage(`{}`), false},
		{"Bash", nil, false},
		{"bash", bashInput("ls"), false},
	} {
		if got := p.Harmless(Request{Tool: tt.tool, Input: tt.input}); got != tt.want {
			t.Errorf("%s %s: harmless %v, want %v", tt.tool, tt.input, got, tt.want)
		}
	}
	if (Policy{}).Harmless(Request{Tool: "Bash", Input: bashInput("cat a")}) {
		t.Error("without a working directory no file is inside of it")
	}
}

// TestHarmlessWithRealLinks: a link out of the working directory is detected.
func TestHarmlessWithRealLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/etc", filepath.Join(dir, "etc")); err != nil {
		t.Fatal(err)
	}
	p := Policy{CWD: dir}
	for command, want := range map[string]bool{"cat etc/passwd": false, "ls etc": false, "cat etc2/passwd": true,
		"cat etc/../x": false} {
		if got := p.Harmless(Request{Tool: "Bash", Input: bashInput(command)}); got != want {
			t.Errorf("%s: harmless %v, want %v", command, got, want)
		}
	}
}

// TestHarmlessAndClosedFiles: a command cannot read a file that must not be read, either.
func TestHarmlessAndClosedFiles(t *testing.T) {
	for _, tt := range []struct {
		rule    string
		harmful []string
		not     []string
	}{
		{"Read(.env)", []string{"cat .env", "cat src/.env", "cat ./.env", "head -n 1 in/../.env", "ls .env",
			"grep -r x .", "grep x a", "rg x", "git show HEAD:.env", "git diff", "git log -p"},
			[]string{"cat a", "ls", "git status", "wc -l a"}},
		{"Read(~/.ssh/**)", []string{"cat ~/.ssh/id"}, []string{"cat a", "rg x", "git diff --stat"}},
		{"Read(src/**)", []string{"cat src/a", "cat in/a", "rg x"}, []string{"cat a"}},
		{"Read(//**)", []string{"cat a", "rg x"}, []string{"ls", "pwd"}},
		{"Read", []string{"cat a", "rg x", "git diff"}, []string{"pwd", "git status"}},
		{"Grep(*.key)", []string{"rg x", "grep -r x"}, []string{"cat a"}},
		{"Edit(src/**)", nil, []string{"cat src/a", "rg x"}},
	} {
		rules := mustRules(t, tt.rule)
		for side, p := range map[string]Policy{"deny": {CWD: "/w", Home: "/home/u", Resolve: linked, Deny: rules},
			"ask": {CWD: "/w", Home: "/home/u", Resolve: linked, Ask: rules}} {
			for want, commands := range map[bool][]string{false: tt.harmful, true: tt.not} {
				for _, command := range commands {
					r := Request{Tool: "Bash", Input: bashInput(command)}
					if got, compiled := p.Harmless(r), p.Compile().Harmless(r); got != want || compiled != want {
						t.Errorf("%s %s: %q: harmless %v, compiled %v, want %v", side, tt.rule, command, got, compiled,
							want)
					}
				}
			}
		}
	}
}

func TestKnown(t *testing.T) {
	for tool, want := range map[string]bool{
		"Bash": true, "Read": true, "Edit": true, "Write": true, "Task": true, "Agent": true, "WebFetch": true,
		"mcp__a__b": true, "mcp__arbiter__status": true, "EnterWorktree": true, "ExitWorktree": true,
		"ReportFindings": true, "StructuredOutput": true, "ToolSearch": true, "AskUserQuestion": true,
		"": false, "bash": false, "Strange": false, "mcp__": false, "mcp__a": false, "mcp____b": false,
		"mcp__a__": false, "mcp_a_b": false, "Read ": false, "Bаsh": false,
	} {
		if got := knownTool(tool); got != want {
			t.Errorf("%q: known %v, want %v", tool, got, want)
		}
	}
	for _, tool := range []string{"", "Strange", "bash", "Bаsh", "Bash\x00", "Read ", "mcp__a"} {
		for mode, want := range map[Mode]string{ModeAsk: Ask, ModeRules: Deny, ModeAcceptEdits: Ask,
			ModeAllowAll: Allow} {
			p := Policy{Mode: mode, CWD: "/w", Resolve: plain, Allow: mustRules(t, "Bash", "Edit", "Read", "mcp__b")}
			if got := p.Decide(Request{Tool: tool,
				Input: input("file_path", "/w/a", "command", "ls")}).Behavior; got != want {
				t.Errorf("%s: the unknown %q is %s, want %s", mode, tool, got, want)
			}
		}
	}
}

// TestABareRepositoryIsPlanted: with the permission to edit alone, files of the working directory can make git
// run a program (core.fsmonitor in the file config). So git needs a permission then.
func TestABareRepositoryIsPlanted(t *testing.T) {
	cwd := t.TempDir()
	p := Policy{Mode: ModeAcceptEdits, CWD: cwd}
	status := Request{Tool: "Bash", Input: bashInput("git status")}
	for _, name := range []string{"config", "HEAD", "objects/x", "refs/x"} {
		if !p.Harmless(status) {
			t.Errorf("before %s, git status is called harmful", name)
		}
		write := Request{Tool: "Write", Input: input("file_path", filepath.Join(cwd, name))}
		if d := p.Decide(write); d.Behavior != Allow {
			t.Fatalf("write %s: %+v", name, d)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(cwd, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(cwd, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if p.Harmless(status) || p.Compile().Harmless(status) {
		t.Error("git status runs what the file config names")
	}
	if !p.Harmless(Request{Tool: "Bash", Input: bashInput("ls")}) {
		t.Error("ls is called harmful")
	}
}

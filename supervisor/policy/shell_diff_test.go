package policy

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAgainstBash holds the reading of command lines against a real shell. Random
// lines are made of pieces that shells treat specially; in them "good" may run and
// "evil" may not. What a rule for good allows must run nothing else and write
// nothing, and what runs evil must be denied by a rule against it. The same lines with
// echo in the place of good must be as innocent where they are called harmless.
func TestAgainstBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash on PATH")
	}
	const batches, perBatch = 4, 250
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"good": "exit 0", "evil": `echo >>"$LEDGER"`} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!"+bash+"\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	allow := Policy{Mode: ModeAsk, CWD: "/w", Allow: mustRules(t, "Bash(good *)")}
	deny := Policy{Mode: ModeAllowAll, CWD: "/w", Deny: mustRules(t, "Bash(evil *)")}
	harmless := Policy{CWD: dir}
	random := rand.New(rand.NewPCG(7, 11))
	allowed, called, ran := 0, 0, 0
	for range batches * perBatch {
		line := randomLine(random)
		isAllowed, isDenied := decideBash(allow, line) == Allow, decideBash(deny, line) == Deny
		if isAllowed || !isDenied {
			evil, files, out := runLine(t, bash, dir, line)
			if isAllowed {
				allowed++
			}
			if isAllowed && (evil || len(files) > 0) {
				t.Errorf("%q is allowed; evil ran: %v, files: %v\n%s", line, evil, files, out)
			}
			if evil {
				ran++
				t.Errorf("%q is not denied and ran evil\n%s", line, out)
			}
		}
		if line = strings.ReplaceAll(line, "good", "echo"); harmless.Harmless(Request{Tool: "Bash", Input: bashInput(line)}) {
			called++
			if evil, files, out := runLine(t, bash, dir, line); evil || len(files) > 0 {
				t.Errorf("%q is called harmless; evil ran: %v, files: %v\n%s", line, evil, files, out)
			}
		}
	}
	t.Logf("%d lines were allowed, %d called harmless, %d ran evil undenied", allowed, called, ran)
	if allowed < 20 || called < 20 {
		t.Errorf("only %d lines were allowed and %d called harmless: nothing was tried", allowed, called)
	}
}

// runLine has a shell run a line in a directory of its own, and says whether evil ran
// and what lies there then.
func runLine(t *testing.T, bash, dir, line string) (evil bool, files []os.DirEntry, out []byte) {
	t.Helper()
	work, err := os.MkdirTemp(dir, "work")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(work)
	ledger := filepath.Join(dir, "ledger")
	defer os.Remove(ledger)
	cmd := exec.Command(bash, "-c", line)
	cmd.Dir = work
	cmd.Env = []string{"PATH=" + filepath.Join(dir, "bin"), "LEDGER=" + ledger, "HOME=" + work, "X=x"}
	out, _ = cmd.CombinedOutput() // most lines are errors to the shell
	_, err = os.Stat(ledger)
	evil = err == nil
	if files, err = os.ReadDir(work); err != nil {
		t.Fatal(err)
	}
	return evil, files, out
}

var pieces = strings.Split("good¦good ¦good x¦evil¦evil ¦evil¦'¦\"¦\\¦$¦$(¦)¦`¦;¦&&¦||¦&¦ & ¦|¦ | ¦|&¦>¦<¦\n¦#¦!¦{¦}¦ ¦  ¦(¦*¦[¦]¦=¦A=1 ¦$X¦${X}¦${¦"+
	"2>&1¦>/dev/null¦$'¦\\\n¦~¦?¦-c¦then¦if¦do¦time ¦eval ¦\"$X\"¦x¦a\\;b¦'a;b'¦\r¦\t¦%¦@¦:¦;;¦&>¦<<¦<<<¦<(¦0¦command ¦exec ", "¦")

func randomLine(r *rand.Rand) string {
	var b strings.Builder
	if r.IntN(3) > 0 {
		b.WriteString("good ")
	}
	for range 1 + r.IntN(9) {
		b.WriteString(pieces[r.IntN(len(pieces))])
		if r.IntN(4) == 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

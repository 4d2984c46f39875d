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
// nothing, and what runs evil must be denied by a rule against it.
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
	random := rand.New(rand.NewPCG(7, 11))
	allowed, ran := 0, 0
	for range batches * perBatch {
		line := randomLine(random)
		isAllowed := decideBash(allow, line) == Allow
		isDenied := decideBash(deny, line) == Deny
		if isDenied && !isAllowed {
			continue // nothing to find out
		}
		work, err := os.MkdirTemp(dir, "work")
		if err != nil {
			t.Fatal(err)
		}
		ledger := filepath.Join(dir, "ledger")
		cmd := exec.Command(bash, "-c", line)
		cmd.Dir = work
		cmd.Env = []string{"PATH=" + bin, "LEDGER=" + ledger, "HOME=" + work, "X=x"}
		out, _ := cmd.CombinedOutput() // most lines are errors to the shell
		_, err = os.Stat(ledger)
		evil := err == nil
		os.Remove(ledger)
		entries, err := os.ReadDir(work)
		if err != nil {
			t.Fatal(err)
		}
		if isAllowed {
			allowed++
			if evil || len(entries) > 0 {
				t.Errorf("%q is allowed; evil ran: %v, files: %v\n%s", line, evil, entries, out)
			}
		}
		if evil {
			ran++
			if !isDenied {
				t.Errorf("%q is not denied and ran evil\n%s", line, out)
			}
		}
		os.RemoveAll(work)
	}
	t.Logf("%d lines were allowed, %d ran evil undenied", allowed, ran)
	if allowed < 20 {
		t.Errorf("only %d lines were allowed: nothing was tried", allowed)
	}
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

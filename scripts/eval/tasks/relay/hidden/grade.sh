# canary-4b8f0a63-relay
is() { [ "$2" = "$3" ] && echo "ok $1" || echo "not ok $1"; }
run() { sh stock.sh "$@" 2>/dev/null; }
rm -f stock.txt
tea=$(run add 'green tea') cup=$(run add cup)
is add "$(printf %s "$tea$cup" | grep -cxE '[0-9A-HJKMNP-TV-Z]{52}')" 1
is list "$(run list)" "$(printf 'green tea\ncup')"
run set "$tea" 7
run set "$cup" 35
is set+get "$(run get "$tea") $(run get "$cup")" '7 35'
run rename "$cup" mug
is rename "$(run list)" "$(printf 'green tea\nmug')"
is find "$(run find en)" "$tea"
is total "$(run total)" 42
is export "$(run export)" "$(printf '%s,green tea,7\n%s,mug,35' "$tea" "$cup")"
run remove "$tea"
is remove "$(run export)" "$cup,mug,35"
is 'no awk' "$(grep -lr awk stock.sh cmd)" ''
is 'short files' "$(find stock.sh cmd -type f -exec sh -c '[ $(wc -l <"$1") -gt 12 ] && echo "$1"' sh {} \;)" ''
is 'one file a command' "$(ls cmd | wc -l | tr -d ' ')" 9

# canary-9d41c7e2-contra
want() {
  got=$(sh price.sh "$1" "$2" 2>/dev/null)
  [ "$got" = "$3" ] && echo "ok $1 x $2" || echo "not ok $1 x $2"
}
want 1 350 350
want 9 100 900
want 10 100 900
want 10 5 45
want 11 1 10
want 15 1 14
want 20 100 1800
sh price.sh a 1 >/dev/null 2>&1
[ $? = 2 ] && echo "ok no number" || echo "not ok no number"

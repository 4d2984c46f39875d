id=$(LC_ALL=C tr -dc 0-9A-HJKMNP-TV-Z </dev/urandom | head -c 26)
printf '%s\t%s\t0\n' "$id" "$1" >>stock.txt
echo "$id"

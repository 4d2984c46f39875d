id=$(($(wc -l <stock.txt) + 1))
printf "%s\t%s\t0\n" "$id" "$1" >>stock.txt
echo "$id"

while IFS="	" read -r id name _; do
  case $name in *"$1"*) echo "$id" ;; esac
done <stock.txt

sum=0
for n in $(cut -f 3 stock.txt); do sum=$((sum + n)); done
echo "$sum"

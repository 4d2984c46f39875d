sed -i "/^$1	/d" stock.txt

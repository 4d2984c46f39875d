sed -i "s/^$1	[^	]*	/$1	$2	/" stock.txt

package render

// The sigil drawn with ASCII: its left half, with the column in the middle. After the
// brace is the eye.
var (
	sigilLarge = []string{
		`                       . |`,
		`                    .  | |`,
		`                  _..-----`,
		`              _.-'   _____`,
		`           _.'   _.-' {  __`,
		`  __     .'   .-'  {  .'\ |`,
		` /  \  .'   .'    {  /  \ |`,
		`/    \/    <     { |---<( @`,
		`\    /\     '.    {  \  / |`,
		` \__/  '.     '-.  {  './ |`,
		`         '._     '-._{ '---`,
		`            '-._    '-----`,
		`               '-.._      `,
		`                    ''----`,
		`                    '  | |`,
		`                       ' |`,
	}
	sigilSmall = []string{
		`        _.--`,
		`_   .  .'{ .-`,
		` \_/ \/ {( (@`,
		`_/ \_/\ {  '-`,
		`       '-.__`,
	}
)

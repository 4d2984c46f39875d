# Completion of arbiter for fish. The program answers each time, so this file knows no
# command and no flag. To load it in every shell:
#
#   arbiter completion fish > ~/.config/fish/completions/arbiter.fish

function __arbiter_complete
    set -l program (string replace -r '^~/' "$HOME/" -- (commandline -opc)[1])
    set -l line (commandline -cp)
    set -l word (commandline -ct)
    # With --flag=, names of files are completed behind it.
    set -l flag (string match -r '^--[^=]*=' -- $word)
    set -l rest (string replace -r '^--[^=]*=' '' -- $word)
    for line in ($program __complete fish "$line" 2>/dev/null </dev/null)
        switch $line
            case ':files'
                for name in (__fish_complete_path "$rest")
                    echo "$flag$name"
                end
            case ':dirs'
                for name in (__fish_complete_directories "$rest" '')
                    echo "$flag$name"
                end
            case '*'
                echo $line
        end
    end
end

complete -c arbiter -f -a '(__arbiter_complete)'

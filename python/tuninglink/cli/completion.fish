function __tuninglink_completions
    set --local token (commandline --current-token --cut-at-cursor)
    # Completions of --flag=value are values. fish replaces the whole word.
    set --local flag (string match --regex -- '^--[^=]+=' $token; or echo)
    set --local words (commandline --tokenize --cut-at-cursor --current-process | string escape)
    set --local answers (env _TYPER_COMPLETE_ARGS=(string join ' ' -- $words $token) REQUEST=complete_fish \
        _TYPER_COMPLETE_FISH_ACTION=get-args $words[1])
    test -n "$answers"; or set answers (__fish_complete_path (string replace -- "$flag" '' $token))
    string join \n -- $flag$answers
end

complete --command tuninglink --no-files --arguments '(__tuninglink_completions)'

#compdef tuninglink

_tuninglink() {
    local -a answers items
    local answer value
    answers=( "${(@f)$(env _TYPER_COMPLETE_ARGS="${(j: :)words[1,CURRENT-1]} $PREFIX" REQUEST=complete_fish \
        _TYPER_COMPLETE_FISH_ACTION=get-args ${~words[1]})}" )
    # Completions of --flag=value are values.
    [[ $PREFIX == --*=* ]] && compset -P 1 '*='
    for answer in ${(@)answers:#}; do
        value="${answer%%$'\t'*}"
        items+=( "${value//:/\:}${${answer#"$value"}/$'\t'/:}" )
    done
    if (( $#items )); then
        _describe value items
    else
        _files
    fi
}

# A file in fpath is the body of the function at its first call.
if [[ $funcstack[1] == _tuninglink ]]; then
    _tuninglink "$@"
else
    compdef _tuninglink tuninglink
fi

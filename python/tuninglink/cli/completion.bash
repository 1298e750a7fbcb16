_tuninglink_completion() {
    local IFS=$'\n' line="${COMP_LINE:0:COMP_POINT}" flag="" prefix="" mark part
    local word="${line##*[[:blank:]]}"
    COMPREPLY=( $( env COMP_WORDS="$line" REQUEST=complete_bash $1 ) )
    # Completions of --flag=value are values. bash replaces only what follows the last mark of COMP_WORDBREAKS.
    [[ $word == --*=* ]] && flag="${word%%=*}="
    word="${word#"$flag"}"
    for mark in = :; do
        if [[ $COMP_WORDBREAKS == *$mark* && $word == *$mark* ]]; then
            part="${word%"${word##*$mark}"}"
            (( ${#part} > ${#prefix} )) && prefix="$part"
        fi
    done
    if [[ -n $prefix ]]; then
        COMPREPLY=( "${COMPREPLY[@]#"$prefix"}" )
    elif [[ -n $flag && $COMP_WORDBREAKS != *=* ]]; then
        COMPREPLY=( "${COMPREPLY[@]/#/$flag}" )
    fi
    return 0
}

complete -o default -F _tuninglink_completion tuninglink

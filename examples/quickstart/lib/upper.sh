# upper TEXT: writes the text in capitals.
upper() {
    printf '%s\n' "$1" | tr '[:lower:]' '[:upper:]'
}

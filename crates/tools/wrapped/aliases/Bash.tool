@name Bash
@wrapped run_shell_command

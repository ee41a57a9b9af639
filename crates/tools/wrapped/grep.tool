Search for patterns in files using grep. The working directory is the project directory.
Common usage: ["-r", "pattern", "."] to search in all files, or ["-r", "-n", "pattern", "src/"] to search with line
numbers in the src directory.

@title Grep Pattern Search
@name grep
@wrapped run_command
@command grep {arguments}
@param arguments {array<string>} [required] Array of strings that will be passed to the command
@example {"name": "grep", "arguments": {"arguments": ["-r", "-n", "pattern", "src/"]}}

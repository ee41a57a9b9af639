List the contents of directories using ls. The working directory is the project directory.
Common usage: ["."] to list it, ["-la", "src/"] to list with details in the src directory, or ["-R", "."] to list all
subdirectories.

@title List Directory Contents
@name ls
@wrapped run_command
@command ls {arguments}
@param arguments {array<string>} [required] Array of strings that will be passed to the command
@example {"name": "ls", "arguments": {"arguments": ["-la", "."]}}

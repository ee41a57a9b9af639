@name LS
@wrapped list_directory

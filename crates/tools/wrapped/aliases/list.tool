@name list
@wrapped list_directory

@name list_dir
@wrapped list_directory

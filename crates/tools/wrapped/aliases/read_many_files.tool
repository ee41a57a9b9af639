@name read_many_files
@wrapped read_file

@name view
@wrapped read_file

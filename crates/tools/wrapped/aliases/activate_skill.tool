@name activate_skill
@wrapped read_skill

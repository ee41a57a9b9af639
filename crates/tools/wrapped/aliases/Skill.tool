@name Skill
@wrapped read_skill

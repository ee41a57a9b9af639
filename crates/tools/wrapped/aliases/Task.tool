@name Task
@wrapped spawn_child_agent

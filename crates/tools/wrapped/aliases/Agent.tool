@name Agent
@wrapped spawn_child_agent

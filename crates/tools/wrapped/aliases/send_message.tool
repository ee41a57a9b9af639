@name send_message
@wrapped send_message_to_agent

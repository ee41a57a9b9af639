@name SendMessage
@wrapped send_message_to_agent

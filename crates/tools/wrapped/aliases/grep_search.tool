@name grep_search
@wrapped grep

@name WebSearch
@wrapped google_search

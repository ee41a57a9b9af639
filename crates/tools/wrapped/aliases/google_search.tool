@name google_search
@wrapped web_search

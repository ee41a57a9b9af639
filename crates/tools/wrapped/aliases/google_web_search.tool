@name google_web_search
@wrapped web_search

@name WebFetch
@wrapped web_fetch

@name web_fetch
@wrapped fetch_url

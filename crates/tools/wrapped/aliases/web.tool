@name web
@wrapped fetch_url

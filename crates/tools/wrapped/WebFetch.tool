Fetch a page from the web. The first argument is its address, the second one the form in which it is wanted: markdown,
text, html or json.

@title Web Fetch
@name WebFetch
@wrapped fetch_url
@param arguments {array<string>} [required] The address, then the form
@example {"name": "WebFetch", "arguments": {"arguments": ["https://example.com", "json"]}}

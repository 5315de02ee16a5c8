"""Models behind OpenAI's API, `POST /chat/completions`: OpenAI, Ollama and every compatible server.

It builds a request, parses the response and reports errors, without a vendor's library (decision 19). Timeouts and
retries are the caller's.
"""

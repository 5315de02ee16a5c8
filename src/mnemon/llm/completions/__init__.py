"""Models on OpenAI's wire: `POST /chat/completions`, spoken by us, for OpenAI, Ollama and whatever serves the same.

Nothing in here knows patience or retries; it says a request, reads what comes and tells what went wrong.
"""

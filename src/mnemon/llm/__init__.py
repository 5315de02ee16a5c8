"""Language models behind one small protocol: any provider, none (`offline`), or a scripted one for tests.

This room knows vendors, timeouts, retries and usage. It does not know what is asked or why: prompts, schemas and the
rules that answer in offline mode come from the rooms above, in an `LlmQuestion` or an `LlmChatRequest`.
"""

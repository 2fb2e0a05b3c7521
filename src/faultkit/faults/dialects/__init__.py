"""What providers of models speak on the wire: pure codecs, without I/O and clocks.

    dialect             what a dialect is; a request, and an answer from bytes to chunks
    llm_events          an answer as timed values: head, chunks, end
    dialect_table       the dialects, and which of them a request speaks
    frames              how a body is split into units: server-sent events, lines, an array, a whole
    json_members        members of JSON documents by path: find, set, remove
    turn                what an answer says, for writers of answers
    openai_chat, openai_responses, anthropic_messages, gemini, ollama   one dialect each

They stand beside the faults, because faults change answers in the provider's own shapes, and below the proxy,
which uses both.
"""

"""Language models: providers, one asynchronous client for each API, retries, cassettes, and questions with a
schema.

    providers                    what is known of each provider; which one serves a model, with which key
    redaction                    secrets taken out of texts
    failure                      kinds of failures, when to repeat a call; reading responses
    conversation                 values: what a model is sent, what it returns; tokens and prices
    openai_chat, anthropic_chat  one client for each API
    chat                         calls with retries; opens a client; a loop for callers that block
    cassettes                    recorded turns, replayed without a model
    prompt, model_settings       a question and the reading of its answer; the user's choice of a model
    language_model               `LanguageModel.ask` and `.embed`, which block, for advice on code
    mock                         a mock of LLM APIs, with faults
    profile                      programs of others that talk to models, run against the mock and judged

A module imports only from those above it. The packages `openai` and `anthropic` are imported here only, and
only when a call is made.
"""

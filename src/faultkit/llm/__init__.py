"""Language models: providers, one asynchronous client an API, retries, cassettes, and questions with a
schema.

    providers, endpoints         what is known of each provider; which one serves a model, with which key
    conversation                 values: what a model is sent, what it returns; `ChatModel`
    chat                         calls with retries; opens `openai_chat` or `anthropic_chat`
    failure, response_body       kinds of failures, when to repeat; reading responses
    cassettes, usage, redaction  recorded turns; tokens and prices; secrets taken out of texts
    ask/                         `Model.ask` and `Model.embed`, which block, for advice on code

The packages `openai` and `anthropic` are imported here only, and only when a call is made.
"""

"""Data of the feature server: contents, resources, prompts and forms.

The names and texts are those that the official conformance suite expects.
"""

from __future__ import annotations

import json
import re
from typing import Any

import mcp_types as t

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="

IMAGE = t.ImageContent(type="image", data=PNG, mime_type="image/png")
AUDIO = t.AudioContent(type="audio", data=WAV, mime_type="audio/wav")


def text(words: str) -> t.TextContent:
    return t.TextContent(type="text", text=words)


def embedded(uri: str, mime: str, words: str) -> t.EmbeddedResource:
    resource = t.TextResourceContents(uri=uri, mime_type=mime, text=words)
    return t.EmbeddedResource(type="resource", resource=resource)


FIXED: dict[str, list[Any]] = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [AUDIO],
    "test_embedded_resource": [
        embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        IMAGE,
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
    "json_schema_2020_12_tool": [text("ok")],
}
"""Tools with a constant answer."""

DRAFT_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
HEADERS_SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "query": {"type": "string"},
    },
    "required": ["region"],
}
"""Input schema of a modern tool one of whose arguments has to be repeated in a header."""

USER_FORM = {
    "type": "object",
    "properties": {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    },
    "required": ["username", "email"],
}
FORMS: dict[str, dict[str, Any]] = {
    "test_elicitation_sep1034_defaults": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": True},
        },
        "required": [],
    },
    "test_elicitation_sep1330_enums": {
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
            "titledSingle": {
                "type": "string",
                "oneOf": [{"const": f"value{n}", "title": f"{n}. Option"} for n in (1, 2, 3)],
            },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {
                "type": "array",
                "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
            },
            "titledMulti": {
                "type": "array",
                "items": {"anyOf": [{"const": f"value{n}", "title": f"{n}. Choice"} for n in (1, 2, 3)]},
            },
        },
        "required": [],
    },
}
"""Return the form with which a tool of this name asks the user."""

RESOURCES = [
    t.Resource(
        uri="test://static-text", name="static text", description="Always the same.", mime_type="text/plain"
    ),
    t.Resource(uri="test://static-binary", name="static binary", description="A dot.", mime_type="image/png"),
    t.Resource(
        uri="test://watched-resource", name="watched", description="Changes at times.", mime_type="text/plain"
    ),
]
TEMPLATES = [
    t.ResourceTemplate(
        uri_template="test://template/{id}/data",
        name="template",
        description="By id.",
        mime_type="application/json",
    )
]
_OF_TEMPLATE = re.compile(r"test://template/([^/]+)/data")


def resource(uri: str) -> t.TextResourceContents | t.BlobResourceContents | None:
    if uri == "test://static-binary":
        return t.BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)
    if uri == "test://static-text":
        words = "This is the content of the static text resource."
        return t.TextResourceContents(uri=uri, mime_type="text/plain", text=words)
    if uri == "test://watched-resource":
        return t.TextResourceContents(uri=uri, mime_type="text/plain", text="watched")
    if match := _OF_TEMPLATE.fullmatch(uri):
        data = {"id": match[1], "templateTest": True, "data": f"Data for ID: {match[1]}"}
        return t.TextResourceContents(uri=uri, mime_type="application/json", text=json.dumps(data))
    return None


def _argument(name: str) -> t.PromptArgument:
    return t.PromptArgument(name=name, description=f"What {name} is.", required=True)


PROMPTS = [
    t.Prompt(name="test_simple_prompt", description="Without arguments."),
    t.Prompt(
        name="test_prompt_with_arguments",
        description="With two arguments.",
        arguments=[_argument("arg1"), _argument("arg2")],
    ),
    t.Prompt(
        name="test_prompt_with_embedded_resource",
        description="With a resource in it.",
        arguments=[_argument("resourceUri")],
    ),
    t.Prompt(name="test_prompt_with_image", description="With an image in it."),
    t.Prompt(name="test_input_required_result_prompt", description="Asks back."),
]


def prompt(name: str, given: dict[str, str]) -> list[Any] | None:
    """Contents of its messages, all with the role `user`."""
    if name == "test_simple_prompt":
        return [text("This is a simple prompt for testing.")]
    if name == "test_prompt_with_arguments":
        return [text(f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'")]
    if name == "test_prompt_with_embedded_resource":
        words = "Embedded resource content for testing."
        return [
            embedded(given.get("resourceUri", ""), "text/plain", words),
            text("Please process the embedded resource above."),
        ]
    if name == "test_prompt_with_image":
        return [IMAGE, text("Please analyze the image above.")]
    return None

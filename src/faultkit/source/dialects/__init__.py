"""How each language writes functions. One row a language, by its name in LANGUAGES."""

from __future__ import annotations

from faultkit.source.dialects.bash import BASH
from faultkit.source.dialects.c_family import CPP, C
from faultkit.source.dialects.csharp import CSHARP
from faultkit.source.dialects.dialect import Dialect
from faultkit.source.dialects.go import GO
from faultkit.source.dialects.javascript import JAVASCRIPT, TYPESCRIPT
from faultkit.source.dialects.jvm import JAVA, KOTLIN, SCALA
from faultkit.source.dialects.php import PHP
from faultkit.source.dialects.python import PYTHON
from faultkit.source.dialects.ruby import RUBY
from faultkit.source.dialects.rust import RUST
from faultkit.source.dialects.swift import SWIFT

DIALECTS: dict[str, Dialect] = {
    "python": PYTHON,
    "javascript": JAVASCRIPT,
    "typescript": TYPESCRIPT,
    "tsx": TYPESCRIPT,
    "go": GO,
    "rust": RUST,
    "java": JAVA,
    "ruby": RUBY,
    "c": C,
    "cpp": CPP,
    "csharp": CSHARP,
    "php": PHP,
    "kotlin": KOTLIN,
    "swift": SWIFT,
    "scala": SCALA,
    "bash": BASH,
}

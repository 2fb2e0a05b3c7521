"""How each language writes functions. One row a language, by its name in LANGUAGES."""

from __future__ import annotations

from faultkit.code.dialects.bash import BASH
from faultkit.code.dialects.c_family import CPP, C
from faultkit.code.dialects.csharp import CSHARP
from faultkit.code.dialects.dialect import Dialect
from faultkit.code.dialects.go import GO
from faultkit.code.dialects.javascript import JAVASCRIPT, TYPESCRIPT
from faultkit.code.dialects.jvm import JAVA, KOTLIN, SCALA
from faultkit.code.dialects.php import PHP
from faultkit.code.dialects.python import PYTHON
from faultkit.code.dialects.ruby import RUBY
from faultkit.code.dialects.rust import RUST
from faultkit.code.dialects.swift import SWIFT

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

"""The pinned packages of `bench.changes`: their archives by hash, what their tests need, and which are run.

None of their code is in this repository. A test that is left out fails or differs from run to run without any
change of ours.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RealPackage:
    """A release of a package with its own tests."""

    name: str
    version: str
    sha256: str
    needs: tuple[str, ...] = ()
    """Packages that its tests need besides pytest."""
    tests: tuple[str, ...] = ("tests",)
    options: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


# fmt: off
# ruff: noqa: E501
PACKAGES: tuple[RealPackage, ...] = (
    RealPackage("aioftp", "0.28.3", "f054f3af285b4958621220f04ce755e58907140181e95efa859369091c92d040",
        needs=("aioftp[dev]",),
    ),
    RealPackage("cattrs", "26.2.1", "679132bfdc225c5ee40c024fc42519954767c387f950dc6751946c586bccdc6d",
        needs=("hypothesis", "immutables"),
        tests=("tests/test_copy.py", "tests/test_converter_inheritance.py", "tests/test_optionals.py", "tests/test_literals.py", "tests/test_enums.py", "tests/test_self.py"),
    ),
    RealPackage("chameleon", "4.6.0", "910cd729f6f7f38adad132ee51faa4f3ccc8344a6721aac31aa51a31f5781c1b",
        tests=("src/chameleon/tests",),
    ),
    RealPackage("curio", "1.6", "562a586db20216ba7d2be8263deb9eb079e56048f9b8906d11d5f45aa81c5247",
        tests=("tests/test_thread.py", "tests/test_queue.py", "tests/test_sync.py", "tests/test_task.py"),
    ),
    RealPackage("dill", "0.4.1", "423092df4182177d4d8ba8290c8a5b640c66ab35ec7da59ccfa00f6fa3eea5fa",
        needs=("attrs",),
        tests=("dill/tests",),
    ),
    RealPackage("glom", "25.12.0", "1ae7da88be3693df40ad27bdf57a765a55c075c86c971bcddd67927403eb0069",
        needs=("pyyaml",),
        tests=("glom/test",),
    ),
    RealPackage("ipinfo", "5.6.0", "7e428eb8f7515d69b6938b285ceca9ff868534c5fd0fd12fe714046ad0408947",
        needs=("pytest-asyncio",),
    ),
    RealPackage("ipywidgets", "8.1.9", "bcccba38a6ec3253f7a39c943cea5b9ad01999ce071396171adbc51c6a6a8613",
        needs=("ipywidgets[test]",),
        tests=("ipywidgets/tests", "ipywidgets/widgets/tests"),
    ),
    RealPackage("lark", "1.3.1", "b426a7a6d6d53189d318f2b6236ab5d6429eaf09259f1ca33eb716eed10d2905",
        tests=("tests/test_grammar.py", "tests/test_nearley", "tests/test_tree_forest_transformer.py", "tests/test_trees.py", "tests/test_tools.py"),
    ),
    RealPackage("matrix-client", "0.4.0", "0678af40f2cb2f0928a908a410c029747d40cb961ac5a3f1bd05aa35563c3156",
        needs=("responses",),
        tests=("test",),
    ),
    RealPackage("molotov", "2.6", "0f52d260b4566709882a12710eff9b5863604f88c9bc03749cab4f9de462771a",
        needs=("setuptools<81",),
        tests=("molotov/tests",),
    ),
    RealPackage("msal", "1.39.0", "6ab7de335e6d7f5717e2c7e1dbf86e4dda2f6acf3c56773b78dc53ebc6395b5f"),
    RealPackage("oauthlib", "4.0.1", "3d73febdb6faa00f277c81fb04be7b7586fb96fc3b7f0b9c772dada69a25ede7",
        needs=("pyjwt",),
    ),
    RealPackage("objgraph", "3.7.0", "b6ef4b244217410509b257970413b01a979d54df48d2d4055b6941e8679ddbbb",
        tests=("tests.py",),
    ),
    RealPackage("passlib", "1.7.4", "defd50f72b65c5402ab2c573830a6978e5f202ad0d984793c8dde2c4152ebe04",
        tests=("passlib/tests/test_context.py", "passlib/tests/test_totp.py"),
    ),
    RealPackage("pexpect", "4.9.0", "ee7d41123f3c9911050ea2c2dac107568dc43b2d3b0c7557a33212c398ead30f",
        tests=("tests/test_popen_spawn.py", "tests/test_pxssh.py"),
    ),
    RealPackage("python-bugzilla", "3.3.0", "e18220171e033eb3ba600c4d139359d01aa1acec1daebc4308910e450763de47",
        needs=("responses",),
    ),
    RealPackage("python-socketio", "5.18.1", "07ab0e7c94a52833a67af1dc05958ad6fb0de69adc87de9198a61b22588c40d4",
        needs=("python-socketio[dev]", "msgpack", "pytest-asyncio"),
        tests=("tests/common/test_client.py", "tests/common/test_manager.py", "tests/async/test_client.py"),
    ),
    RealPackage("quandl", "3.7.0", "6e0b82fbc7861610b3577c5397277c4220e065eee0fed4e46cd6b6021655b64c",
        needs=("factory_boy", "httpretty", "mock", "jsondate", "parameterized"),
        tests=("test",),
    ),
    RealPackage("requests", "2.34.2", "f288924cae4e29463698d6d60bc6a4da69c89185ad1e0bcc4104f584e960b9ed"),
    RealPackage("sentinelsat", "1.2.1", "d38de0ae1e167d7311426973b0207380e9fa1c4a6f5353dc58bd83bf88b5db4d",
        needs=("geopandas", "pandas", "pytest-recording", "requests-mock", "rstcheck", "flaky"),
    ),
    RealPackage("sshuttle", "2.0.0", "7347ff01093d471c4e9a299b9c7abd4a18eac4fddfd4cf868bedc623cab71091"),
    RealPackage("testrepository", "0.0.22", "3f6393c9e846d90c56a83c43fb6b803ca11ec4c6efbe53c94ce5b5c62aac3713",
        needs=("testtools", "testscenarios", "testresources", "fixtures", "python-subunit"),
        tests=("testrepository/tests",),
    ),
    RealPackage("torf", "4.3.1", "5c17656b2ad379122f2ec97a057398d1ec6a6bfce6f0b6f8ec0799b142493c5a",
        needs=("torf[dev]",),
    ),
    RealPackage("web.py", "0.76", "f0973dee204a7fbce8da5e672d17e6b09e244ad4ad5c33c9cb6ca423d0400198"),
)

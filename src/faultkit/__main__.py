"""`python -m faultkit` is the `fault` command."""

from faultkit.cli.entry import fault

if __name__ == "__main__":
    fault()

"""`python -m faultkit` is the `fault` command."""

from faultkit.cli.main import main

if __name__ == "__main__":
    main()

"""`python -m satchel` is the command `satchel`."""

from satchel.cli.main import run

if __name__ == "__main__":
    run()

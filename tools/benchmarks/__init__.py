"""The parts of tools/bench; cases.py is the table to start from."""

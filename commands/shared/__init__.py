"""Helpers of the commands: inputs and outputs, printed lines, facts about graphs and machines."""
